// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// refusedWrite is a write of the operator for policy p, other than the patch of a workload, and how it is refused.
type refusedWrite struct {
	name, spec string
	framework.Denial
	// late has it refused from when the workload rolls out, and not before.
	late bool
	// probe is a request that is refused likewise, and changes nothing; nil for none.
	probe func(*suite) error
}

func refusedWrites() []refusedWrite {
	status := framework.Write{Group: autorebootv1.GroupVersion.Group, Version: "v1", Resource: "rebootpolicies/status", Operation: "UPDATE"}
	event := framework.Write{Group: "events.k8s.io", Version: "v1", Resource: "events", Operation: "CREATE"}
	patchStatus := func(s *suite) error {
		_, _, err := s.Try("", "patch", "rebootpolicy", "p", "--subresource=status", "--type=merge", "--dry-run=server", "-p", `{"status": {"lastRestartNow": "probe"}}`)
		return err
	}
	createEvent := func(s *suite) error {
		_, _, err := s.Try(`{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: probe}, eventTime: "2026-01-01T00:00:00.000000Z", reportingController: example.com/probe,
			reportingInstance: probe, action: Probe, reason: Probe, type: Normal, regarding: {kind: Namespace, name: none}}`, "create", "--dry-run=server", "-f", "-")
		return err
	}
	all := []refusedWrite{{"eviction", "strategy: {type: Evict}, serviceAccountName: evictor, ", framework.RightDenial("evictor",
		`{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`), false, nil}}
	for _, deny := range []func(framework.Write, string) framework.Denial{
		func(w framework.Write, match string) framework.Denial {
			return framework.PolicyDenial("Invalid", w, match)
		},
		func(w framework.Write, match string) framework.Denial {
			return framework.PolicyDenial("Forbidden", w, match)
		},
		framework.WebhookDenial,
	} {
		named := deny(status, `object.metadata.name == "p"`)
		all = append(all, refusedWrite{"status", "", named, false, patchStatus}, refusedWrite{"late status", "", named, true, patchStatus},
			refusedWrite{"event", "", deny(event, "true"), false, createEvent})
	}
	return all
}

// TestAWriteThatTheAPIServerRefusesIsToldAndStopsNothingElse refuses each write of a policy in each way. Another policy
// restarts meanwhile, and once the write is allowed the workload was restarted exactly once.
func TestAWriteThatTheAPIServerRefusesIsToldAndStopsNothingElse(t *testing.T) {
	t.Parallel()
	for _, w := range framework.Sample(framework.NewSampler(t), 2, refusedWrites()) {
		t.Run(w.name+" by "+w.Name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.MayBeRefusedIn(s.Namespace)
			s.secret("creds", "password", "first")
			s.run(deployment, "web", takes("creds"))
			s.run(deployment, "foreign", takes("creds"))
			s.policy("p", "{"+targets(deployment, "web")+", "+w.spec+onConfig+"}")
			s.policy("other", "{"+targets(deployment, "foreign")+", "+onConfig+"}")
			s.watching("p", 1)
			s.watching("other", 1)
			if w.late {
				s.secret("creds", "password", "second")
				s.rolling("p", autorebootv1.PhaseRollingOut)
			}
			w.Put(&s.Test)
			s.Eventually(func() error { return w.isInForce(s) })
			if !w.late {
				s.secret("creds", "password", "second")
			}
			s.succeeded("other", 1)
			s.toldRefusal(w)

			w.Lift(&s.Test)
			s.succeeded("p", 1)
			if w.name != "eviction" {
				s.restarted(deployment, "web", 1)
			}
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionStalled) != nil {
					return fmt.Errorf("want no Stalled")
				}
				return nil
			})
			s.normal("p")
		})
	}
}

// isInForce returns an error until the API server refuses what w is to refuse.
func (w *refusedWrite) isInForce(s *suite) error {
	if w.probe == nil {
		return nil
	}
	if err := w.probe(s); err == nil || !strings.Contains(err.Error(), w.Words) {
		return fmt.Errorf("%s by %s is not in force yet: %w", w.name, w.Name, err)
	}
	return nil
}

// toldRefusal demands the words of the API server: of a status that is refused in one event, and of what else holds the
// restart in the conditions. Events that are refused hold nothing.
func (s *suite) toldRefusal(w refusedWrite) {
	s.Helper()
	switch w.name {
	case "event":
		s.succeeded("p", 1)
	case "eviction":
		status := s.held("p", "web", autorebootv1.ReasonForbidden)
		if c := meta.FindStatusCondition(status.Conditions, autorebootv1.ConditionReady); c == nil || !strings.Contains(c.Message, w.Words) {
			s.Errorf("Ready: %s, want %q", framework.Text(c), w.Words)
		}
	default:
		if told := s.Tells("RebootPolicy", "p", "WriteRefused", 1); !strings.Contains(told[0].Note, w.Words) {
			s.Errorf("says %q, want %q", told[0].Note, w.Words)
		}
		if !w.late {
			s.restarted(deployment, "web", 0)
		}
	}
}
