// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// step is a write of the operator for ChaosPod c, and what its spec needs for it.
type step struct {
	name, spec string
	write      framework.Write
	// match is, in CEL, which writes of the namespace are refused.
	match string
	// right is the rule of a Role without which a ServiceAccount cannot take the step, and quota the resource that a
	// ResourceQuota limits. Both may be empty.
	right, quota string
	// probe is a request that is refused likewise, and changes nothing.
	probe func(*suite) error
}

const killsWeb = "dryRun: false, " + web + ", verification: {soak: 0s}, " + someday

func steps() []step {
	const pod, named = `oldObject.metadata.name.startsWith("web-")`, `object.metadata.name == "c"`
	return []step{
		{"evict", killsWeb, framework.Write{Version: "v1", Resource: "pods/eviction", Operation: "CREATE"}, `object.metadata.name.startsWith("web-")`,
			`{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`, "", (*suite).probeEviction},
		{"delete", "action: {type: Delete}, " + killsWeb, framework.Write{Version: "v1", Resource: "pods", Operation: "DELETE"}, pod,
			`{apiGroups: [""], resources: [pods], verbs: [delete]}`, "", func(s *suite) error {
				return s.try("", "delete", "pod", "--dry-run=server", "--wait=false", s.onePod("web"))
			}},
		{"canary", canary, framework.Write{Version: "v1", Resource: "pods", Operation: "CREATE"}, named,
			`{apiGroups: [""], resources: [pods], verbs: [create, delete]}, {apiGroups: [""], resources: [pods/eviction], verbs: [create]}`, "pods", func(s *suite) error {
				return s.try("", "run", "c", "--image=none", "--dry-run=server")
			}},
		{"status", killsWeb, framework.Write{Group: chaosv1.GroupVersion.Group, Version: "v1", Resource: "chaospods/status", Operation: "UPDATE"}, named, "", "", func(s *suite) error {
			return s.try("", "patch", "chaospod", "c", "--subresource=status", "--type=merge", "--dry-run=server", "-p", `{"status": {"handledRunNow": "probe"}}`)
		}},
	}
}

// denied is one step refused in one way.
type denied struct {
	step
	framework.Denial
}

func denials() []denied {
	var all []denied
	for _, st := range steps() {
		all = append(all, denied{st, framework.PolicyDenial("Invalid", st.write, st.match)}, denied{st, framework.PolicyDenial("Forbidden", st.write, st.match)},
			denied{st, framework.WebhookDenial(st.write, st.match)})
		if st.quota != "" {
			all = append(all, denied{st, framework.QuotaDenial(st.quota)})
		}
		if st.right != "" {
			d := framework.RightDenial("killer", st.right)
			st.spec, st.probe = "serviceAccountName: killer, "+st.spec, func(*suite) error { return fmt.Errorf("%s", d.Words) }
			all = append(all, denied{st, d})
		}
	}
	return all
}

// TestAWriteThatTheAPIServerRefusesIsToldAndStopsNothingElse refuses each write of a ChaosPod in each way. Another one
// kills meanwhile, and once the write is allowed exactly one pod dies.
func TestAWriteThatTheAPIServerRefusesIsToldAndStopsNothingElse(t *testing.T) {
	t.Parallel()
	for _, d := range framework.Sample(framework.NewSampler(t), 4, denials()) {
		t.Run(d.name+" by "+d.Name, func(t *testing.T) {
			s := newSuite(t)
			s.MayBeRefusedIn(s.Namespace)
			s.run("web", 3, "")
			s.run("api", 3, "")
			s.chaos("other", "dryRun: false, target: {workload: {kind: Deployment, name: api}}, verification: {soak: 0s}, "+someday)
			if d.name == "canary" {
				s.refusesCanary(d)
			} else {
				s.refusesKill(d)
			}
			s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
				if c := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue ||
					meta.FindStatusCondition(st.Conditions, chaosv1.ConditionStalled) != nil {
					return fmt.Errorf("want Ready, and not Stalled")
				}
				return nil
			})
		})
	}
}

func (s *suite) refusesKill(d denied) {
	s.Helper()
	if d.Name == "right" {
		d.Put(&s.Test) // the ServiceAccount
	}
	s.chaos("c", d.spec)
	before := s.pods("web")
	if d.Name != "right" {
		d.Put(&s.Test)
	}
	s.denies(d)
	s.now("c", "1")
	switch d.name {
	case "status":
		s.tells("c", d.Words)
	default:
		s.ended("c", 1, chaosv1.ResultFailed)
		s.saysRefused("c", d)
		if told := s.Told("ChaosPod", "c")["RunFailed"]; len(told) > 1 {
			s.Errorf("%d events RunFailed", len(told))
		}
	}
	if died := gone(before, s.pods("web")); len(died) > 0 {
		s.Fatalf("killed %q", died)
	}
	s.now("other", "1")
	s.ended("other", 1, chaosv1.ResultSurvived)

	d.Lift(&s.Test)
	switch d.name {
	case "status":
		s.ended("c", 1, chaosv1.ResultSurvived)
	default:
		s.Eventually(func() error {
			if err := d.probe(s); err != nil && d.Name != "right" {
				return err
			}
			return nil
		})
		s.now("c", "2")
		s.ended("c", 2, chaosv1.ResultSurvived)
	}
	s.available("web", 3)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		s.Errorf("killed %q, want one", died)
	}
}

func (s *suite) refusesCanary(d denied) {
	s.Helper()
	d.Put(&s.Test)
	s.denies(d)
	s.Make(s.manifest("c", d.spec))
	s.saysRefused("c", d)
	if d.Name != "quota" { // no pod of any kind comes back
		s.now("other", "1")
		s.ended("other", 1, chaosv1.ResultSurvived)
	}
	d.Lift(&s.Test)
	first := s.living("c")
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionTrue, "")
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultSurvived)
	s.living("c", first.UID)
	s.Tells("ChaosPod", "c", d.reason(), 1) // however often it was tried
}

// reason returns that of the conditions.
func (d denied) reason() string {
	if d.Name == "webhook" || d.Name == "policy Invalid" {
		return chaosv1.ReasonWriteRefused
	}
	return chaosv1.ReasonForbidden
}

// saysRefused waits until the conditions have the words of the API server, and demands that they are bounded.
func (s *suite) saysRefused(name string, d denied) {
	s.Helper()
	reason, words := d.reason(), d.Words
	s.shows(name, func(st *chaosv1.ChaosPodStatus) error {
		for _, kind := range []string{chaosv1.ConditionReady, chaosv1.ConditionStalled} {
			c := meta.FindStatusCondition(st.Conditions, kind)
			if c == nil || c.Reason != reason || !strings.Contains(c.Message, words) || len(c.Message) > 512 {
				return fmt.Errorf("%s does not say %q", kind, words)
			}
		}
		return nil
	})
}

// tells waits for the only event about a status that is refused.
func (s *suite) tells(name, words string) {
	s.Helper()
	if told := s.Tells("ChaosPod", name, "WriteRefused", 1); !strings.Contains(told[0].Note, words) {
		s.Errorf("says %q, want %q", told[0].Note, words)
	}
}

// denies waits until the API server refuses what d is to refuse.
func (s *suite) denies(d denied) {
	s.Helper()
	s.Eventually(func() error {
		if err := d.probe(s); err == nil || !strings.Contains(err.Error(), d.Words) {
			return fmt.Errorf("%s by %s is not in force yet: %v", d.name, d.Name, err)
		}
		return nil
	})
}

func (s *suite) try(stdin string, args ...string) error {
	s.Helper()
	_, _, err := s.Try(stdin, args...)
	return err
}

func (s *suite) onePod(app string) string {
	s.Helper()
	for _, name := range s.pods(app) {
		return name
	}
	s.Fatalf("no pod of %s", app)
	return ""
}

func (s *suite) probeEviction() error {
	s.Helper()
	pod := s.onePod("web")
	body := fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}, "deleteOptions": {"dryRun": ["All"]}}`, pod, s.Namespace)
	return s.try("", "create", "--raw", "/api/v1/namespaces/"+s.Namespace+"/pods/"+pod+"/eviction?dryRun=All", "-f", s.File("eviction.json", body))
}
