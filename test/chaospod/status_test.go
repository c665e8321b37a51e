// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// removal is a way in which another writer removes parts of the status of a ChaosPod.
type removal struct{ object, name, kind, patch string }

// removals remove the whole status of each object, each of its members, and parts of these, by each verb that can.
func (s *suite) removals(objects map[string]*chaosv1.ChaosPodStatus) []removal {
	s.Helper()
	var all []removal
	for _, object := range slices.Sorted(maps.Keys(objects)) {
		all = append(all, removal{object, "all", "replace", ""}, removal{object, "all", "merge", `{"status": null}`},
			removal{object, "all", "json", `[{"op": "remove", "path": "/status"}]`})
		for _, member := range s.members(objects[object]) {
			all = append(all, removal{object, member, "merge", fmt.Sprintf(`{"status": {%q: null}}`, member)},
				removal{object, member, "json", fmt.Sprintf(`[{"op": "remove", "path": "/status/%s"}]`, member)})
		}
		if objects[object].CurrentRun != nil {
			for _, member := range []string{"victims", "count", "internal"} {
				all = append(all, removal{object, "currentRun." + member, "json", fmt.Sprintf(`[{"op": "remove", "path": "/status/currentRun/%s"}]`, member)})
			}
		}
	}
	return all
}

// members are those that a status has.
func (s *suite) members(status *chaosv1.ChaosPodStatus) []string {
	var all map[string]any
	s.Must(json.Unmarshal([]byte(framework.Text(status)), &all))
	return slices.Sorted(maps.Keys(all))
}

// remove removes it, as a user with the right to the status.
func (s *suite) remove(r removal) {
	s.Helper()
	object, err := s.get(r.object)
	s.Must(err)
	switch r.kind {
	case "replace":
		bare := s.Object(fmt.Sprintf(`{apiVersion: %s, kind: ChaosPod, metadata: {name: %s, resourceVersion: %q}}`, chaosv1.GroupVersion, r.object, object.ResourceVersion))
		s.Must(s.Client.Status().Update(s.Context(), bare))
	case "merge":
		s.Must(s.Client.Status().Patch(s.Context(), object, client.RawPatch("application/merge-patch+json", []byte(r.patch))))
	default:
		s.Must(s.Client.Status().Patch(s.Context(), object, client.RawPatch("application/json-patch+json", []byte(r.patch))))
	}
}

// TestAStatusThatAnotherWriterRemovesIsWrittenAgain has a run that is verified, a day whose pods were all killed, and a
// halt. Each time one of them is removed, it comes back, and no pod is killed.
func TestAStatusThatAnotherWriterRemovesIsWrittenAgain(t *testing.T) {
	s := newSuite(t)
	sampler := framework.NewSampler(t)
	for _, name := range []string{"running", "ended", "halted"} {
		s.run(name, 3, "")
	}
	s.budget("one", "halted", 1, 2)
	s.budget("two", "halted", 1, 2)
	target := func(name string) string { return "target: {workload: {kind: Deployment, name: " + name + "}}" }
	s.chaos("running", "dryRun: false, "+target("running")+", verification: {soak: 30m}, "+someday)
	s.chaos("ended", "dryRun: false, safety: {maxPerDay: 1}, verification: {soak: 0s}, "+target("ended")+`, schedule: {cron: "0 0 1 * *"}, filter: {minAge: 0s}`)
	s.chaos("halted", "dryRun: false, "+target("halted")+", "+someday)
	for _, name := range []string{"running", "ended", "halted"} {
		s.now(name, "1")
	}
	s.shows("running", func(st *chaosv1.ChaosPodStatus) error {
		if st.CurrentRun == nil || st.CurrentRun.ReadyTime == nil {
			return fmt.Errorf("the soak has not begun")
		}
		return nil
	})
	s.ended("ended", 1, chaosv1.ResultSurvived)
	s.ended("halted", 1, chaosv1.ResultFailed)
	// What is asked for now is held, by the run under way, the day, and the halt.
	s.Delete("policy/v1", "PodDisruptionBudget", "two")
	for _, name := range []string{"running", "ended", "halted"} {
		s.now(name, "2")
	}
	s.condition("ended", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonDailyLimit)

	want := map[string]*chaosv1.ChaosPodStatus{}
	for _, name := range []string{"running", "ended", "halted"} {
		object, err := s.get(name)
		s.Must(err)
		want[name] = lasting(&object.Status)
	}
	pods := s.pods("running")
	maps.Copy(pods, s.pods("ended"))
	maps.Copy(pods, s.pods("halted"))
	for _, r := range framework.Sample(sampler, 10, s.removals(want)) {
		s.remove(r)
		s.Eventually(func() error {
			object, err := s.get(r.object)
			if err != nil {
				return err
			}
			if got := framework.Text(lasting(&object.Status)); got != framework.Text(want[r.object]) {
				return fmt.Errorf("%s of %s by %s: %s, want %s", r.name, r.object, r.kind, got, framework.Text(want[r.object]))
			}
			return nil
		})
	}
	s.Never(func() error {
		now := s.pods("running")
		maps.Copy(now, s.pods("ended"))
		maps.Copy(now, s.pods("halted"))
		if died := gone(pods, now); len(died) > 0 {
			return fmt.Errorf("killed %q", died)
		}
		return nil
	})
}

// lasting returns the parts of a status that do not depend on when it was written.
func lasting(st *chaosv1.ChaosPodStatus) *chaosv1.ChaosPodStatus {
	kept := st.DeepCopy()
	slices.SortFunc(kept.Conditions, func(a, b metav1.Condition) int {
		if a.Type < b.Type {
			return -1
		}
		return 1
	})
	for i := range kept.Conditions {
		kept.Conditions[i].LastTransitionTime.Reset()
	}
	meta.RemoveStatusCondition(&kept.Conditions, chaosv1.ConditionWaiting) // its message has the time of the next try
	return kept
}
