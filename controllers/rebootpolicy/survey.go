// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// survey is what one look at a policy has found.
type survey struct {
	key types.NamespacedName
	now time.Time
	// stored is the policy as the cache has it, and policy the same with the defaults filled in.
	// Neither is changed.
	stored, policy *autorebootv1.RebootPolicy
	memory         *memory
	// barred is why nothing starts, and no trigger is read: InvalidSpec or Forbidden. It is empty when
	// normal. invalid are the rules that the spec breaks.
	barred, invalid string

	workloads []*workload
	gates     []string
	calendar  restart.Calendar
	suspect   bool
	// sources is how many ConfigMaps and Secrets are looked at.
	sources int
	// there are those that a watch shows.
	there map[sources.Ref]bool
	// notes are what keeps the policy from watching all that it was asked to.
	notes []note
	// blocked are the targets of which disruption budgets let no pod go.
	blocked []string
	// confirmed says that stored is what stands: it was just written, or read.
	confirmed bool
	// claimed is what the ledger has for the policy.
	claimed []disruption.Claim
	// again is when to look once more, whatever the decision says.
	again time.Time
}

// note is a reason of Ready=False.
type note struct{ reason, message string }

// note takes down what is the matter, once.
func (s *survey) note(reason, message string) {
	n := note{reason, message}
	if !slices.Contains(s.notes, n) {
		s.notes = append(s.notes, n)
	}
}

// worst are the gravest notes: of several reasons one is that of the condition.
func (s *survey) worst() (reason string, messages []string) {
	for _, reason := range []string{
		autorebootv1.ReasonInvalidSpec, autorebootv1.ReasonForbidden, autorebootv1.ReasonTooManyTargets,
		autorebootv1.ReasonTargetNotFound, autorebootv1.ReasonSourceNotFound, autorebootv1.ReasonProbeUnavailable,
	} {
		for _, n := range s.notes {
			if n.reason == reason {
				messages = append(messages, n.message)
			}
		}
		if len(messages) > 0 {
			return reason, messages
		}
	}
	return "", nil
}

func (s *survey) evicts() bool { return rules.Evicts(&s.policy.Spec) }

func (s *survey) look(at time.Time) { s.again = controller.Earliest(s.again, at) }

// inFlight says whether a restart of ours is in flight on a workload.
func (s *survey) inFlight(uid types.UID) bool {
	return slices.ContainsFunc(s.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == uid })
}

// baselines are what the status holds of a workload.
func (s *survey) baselines(w *workload) []autorebootv1.Baseline {
	for i := range s.policy.Status.Targets {
		if t := &s.policy.Status.Targets[i]; t.UID == w.UID && t.Kind == w.Kind {
			return t.Baselines
		}
	}
	return nil
}

// baseline is the one of a trigger and a source.
func (s *survey) baseline(w *workload, trigger, source string) (string, bool) {
	for _, b := range s.baselines(w) {
		if b.Trigger == trigger && b.Source == source {
			return b.Fingerprint, true
		}
	}
	return "", false
}

// selected is how many workloads are watched.
func (s *survey) selected() int {
	n := 0
	for _, w := range s.workloads {
		if !w.Unselected {
			n++
		}
	}
	return n
}

// workload finds the target of an action.
func (s *survey) workload(uid types.UID) *workload {
	for _, w := range s.workloads {
		if w.UID == uid {
			return w
		}
	}
	return nil
}

// observation is what the decision is made from.
func (s *survey) observation() restart.Observation {
	o := restart.Observation{Now: s.now, Gates: s.gates, Calendar: s.calendar, Suspect: s.suspect}
	for _, w := range s.workloads {
		o.Workloads = append(o.Workloads, w.Workload.Workload)
	}
	return o
}

// maxNamed is how many things of a kind one message names.
const maxNamed = 3

// some names the first of a list, and how many more there are.
func some(list []string) string {
	if len(list) <= maxNamed {
		return strings.Join(list, "; ")
	}
	return strings.Join(list[:maxNamed], "; ") + fmt.Sprintf("; and %d more", len(list)-maxNamed)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
