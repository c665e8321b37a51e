// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"encoding/json"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// loss is a way in which another writer takes parts of a status away.
type loss struct{ name, kind, patch string }

// losses take away the whole of a status, each member of it, and each member of a target, by each verb that can.
func losses() []loss {
	all := []loss{{"all/replace", "replace", ""}, {"all/merge", "merge", `{"status": null}`}, {"all/json", "json", `[{"op": "remove", "path": "/status"}]`}}
	for _, member := range []string{"conditions", "observedGeneration", "targets", "triggers", "watchedTargets"} {
		all = append(all,
			loss{member + "/merge", "merge", fmt.Sprintf(`{"status": {%q: null}}`, member)},
			loss{member + "/json", "json", fmt.Sprintf(`[{"op": "remove", "path": "/status/%s"}]`, member)})
	}
	for _, member := range []string{"internal", "uid"} {
		all = append(all, loss{"targets/" + member, "json", fmt.Sprintf(`[{"op": "remove", "path": "/status/targets/0/%s"}]`, member)})
	}
	return all
}

// take takes it away, as a user with the right to the status.
func (l loss) take(s *suite, name string) {
	s.Helper()
	policy := s.policyObject(name)
	s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(policy), policy))
	switch l.kind {
	case "replace":
		bare := s.Object(fmt.Sprintf(`{apiVersion: %s, kind: RebootPolicy, metadata: {name: %s, resourceVersion: %q}}`,
			autorebootv1.GroupVersion, name, policy.GetResourceVersion()))
		s.Must(s.Client.Status().Update(s.Context(), bare))
	case "merge":
		s.Must(s.Client.Status().Patch(s.Context(), policy, client.RawPatch("application/merge-patch+json", []byte(l.patch))))
	default:
		s.Must(s.Client.Status().Patch(s.Context(), policy, client.RawPatch("application/json-patch+json", []byte(l.patch))))
	}
}

// TestAStatusThatAnotherWriterTakesAwayIsWrittenAgain has the next change restart its workload as if nothing had been.
func TestAStatusThatAnotherWriterTakesAwayIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, l := range framework.Sample(framework.NewSampler(t), 5, losses()) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.secret("creds", "password", "first")
			s.run(deployment, "web", takes("creds"))
			s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
			s.watching("p", 1)
			before, err := s.get("p")
			s.Must(err)
			want := remembered(&before.Status)
			l.take(s, "p")
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if got := remembered(&st); got != want {
					return fmt.Errorf("want %s", want)
				}
				return nil
			})
			s.secret("creds", "password", "second")
			s.succeeded("p", 1)
			s.restarted(deployment, "web", 1)
			s.normal("p")
		})
	}
}

// remembered returns the parts of a status that do not depend on when it was written.
func remembered(st *autorebootv1.RebootPolicyStatus) string {
	kept := st.DeepCopy()
	for i := range kept.Conditions {
		kept.Conditions[i].LastTransitionTime.Reset()
	}
	for i := range kept.Triggers {
		kept.Triggers[i].LastObservedTime = nil
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
