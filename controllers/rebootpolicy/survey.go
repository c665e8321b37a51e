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

// observation is what one look at a policy has found.
type observation struct {
	key types.NamespacedName
	now time.Time
	// stored is the policy as the cache has it, and policy the same with the defaults filled in.
	// Neither is changed.
	stored, policy *autorebootv1.RebootPolicy
	state          *objectState
	// blockedBy is why nothing starts, and no trigger is read: InvalidSpec or Forbidden. It is empty when
	// normal. invalid are the rules that the spec breaks.
	blockedBy, invalid string

	workloads []*workload
	gates     []string
	calendar  restart.Calendar
	suspect   bool
	// sourceCount is how many ConfigMaps and Secrets are looked at.
	sourceCount int
	// watchedSources are those that a watch shows.
	watchedSources map[sources.Ref]bool
	// problems are what keeps the policy from watching all that it was asked to.
	problems []problem
	// budgetBlocks are the targets of which disruption budgets let no pod go.
	budgetBlocks []string
	// confirmed says that stored is what stands: it was just written, or read.
	confirmed bool
	// claimed is what the ledger has for the policy.
	claimed []disruption.Claim
	// requeue is when to look once more, whatever the decision says.
	requeue time.Time
}

// problem is a reason of Ready=False.
type problem struct{ reason, message string }

// addProblem takes down what is the matter, once.
func (o *observation) addProblem(reason, message string) {
	n := problem{reason, message}
	if !slices.Contains(o.problems, n) {
		o.problems = append(o.problems, n)
	}
}

// worstProblem are the gravest notes: of several reasons one is that of the condition.
func (o *observation) worstProblem() (reason string, messages []string) {
	for _, reason := range []string{
		autorebootv1.ReasonInvalidSpec, autorebootv1.ReasonForbidden, autorebootv1.ReasonTooManyTargets,
		autorebootv1.ReasonTargetNotFound, autorebootv1.ReasonSourceNotFound, autorebootv1.ReasonProbeUnavailable,
	} {
		for _, n := range o.problems {
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

func (o *observation) evicts() bool { return rules.Evicts(&o.policy.Spec) }

func (o *observation) requeueAt(at time.Time) { o.requeue = controller.Earliest(o.requeue, at) }

// inFlight says whether a restart of ours is in flight on a workload.
func (o *observation) inFlight(uid types.UID) bool {
	return slices.ContainsFunc(o.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == uid })
}

// baselines are what the status holds of a workload.
func (o *observation) baselines(w *workload) []autorebootv1.Baseline {
	for i := range o.policy.Status.Targets {
		if t := &o.policy.Status.Targets[i]; t.UID == w.UID && t.Kind == w.Kind {
			return t.Baselines
		}
	}
	return nil
}

// baseline is the one of a trigger and a source.
func (o *observation) baseline(w *workload, trigger, source string) (string, bool) {
	for _, b := range o.baselines(w) {
		if b.Trigger == trigger && b.Source == source {
			return b.Fingerprint, true
		}
	}
	return "", false
}

// selectedCount is how many workloads are watched.
func (o *observation) selectedCount() int {
	n := 0
	for _, w := range o.workloads {
		if !w.Unselected {
			n++
		}
	}
	return n
}

// workload finds the target of an action.
func (o *observation) workload(uid types.UID) *workload {
	for _, w := range o.workloads {
		if w.UID == uid {
			return w
		}
	}
	return nil
}

// decisionInput is what the decision is made from.
func (s *observation) decisionInput() restart.Observation {
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
