// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// quick has the defaults of the policies here: no test waits for long.
const quick = `{debounce: {quietPeriod: 1s}, cooldown: 0s, concurrency: {maxTargets: 100%}, limit: {maxRestarts: 50, within: 1h},
  retry: {maxAttempts: 0, backoff: 1s}, verification: {soak: 1s, timeout: 2m}}`

// onConfig is a trigger for whatever the targets refer to.
const onConfig = `triggers: [{name: config, type: ConfigChange}]`

// policy applies a RebootPolicy with a spec in YAML, over quick.
func (s *suite) policy(name, spec string) {
	s.Helper()
	s.Apply(s.manifest(name, spec))
}

func (s *suite) manifest(name, spec string) string {
	s.Helper()
	var all, own map[string]any
	s.Must(yaml.Unmarshal([]byte(quick), &all))
	s.Must(yaml.Unmarshal([]byte(spec), &own))
	maps.Copy(all, own)
	return framework.Text(map[string]any{
		"apiVersion": autorebootv1.GroupVersion.String(), "kind": "RebootPolicy",
		"metadata": map[string]any{"name": name}, "spec": all,
	})
}

// get reads a RebootPolicy.
func (s *suite) get(name string) (*autorebootv1.RebootPolicy, error) {
	var policy autorebootv1.RebootPolicy
	err := s.Get(name, &policy)
	return &policy, err
}

// set edits the spec of a RebootPolicy by a merge patch in YAML.
func (s *suite) set(name, spec string) {
	s.Helper()
	s.Merge(autorebootv1.GroupVersion.String(), "RebootPolicy", name, "{spec: "+spec+"}")
}

// annotate sets an annotation of a RebootPolicy.
func (s *suite) annotate(name, annotation, value string) {
	s.Helper()
	s.Merge(autorebootv1.GroupVersion.String(), "RebootPolicy", name, fmt.Sprintf("{metadata: {annotations: {%q: %q}}}", annotation, value))
}

// shows waits until the status answers the latest spec, and ask is content with it.
func (s *suite) shows(name string, ask func(autorebootv1.RebootPolicyStatus) error) autorebootv1.RebootPolicyStatus {
	s.Helper()
	var last autorebootv1.RebootPolicyStatus
	s.Eventually(func() error {
		policy, err := s.get(name)
		if err != nil {
			return err
		}
		last = policy.Status
		if last.ObservedGeneration != policy.Generation {
			return fmt.Errorf("%s: generation %d is not observed yet: %s", name, policy.Generation, framework.Text(last))
		}
		if err := ask(last); err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, framework.Text(last))
		}
		return nil
	})
	return last
}

// condition waits for a condition as given.
func (s *suite) condition(name, kind string, status metav1.ConditionStatus, reason string) autorebootv1.RebootPolicyStatus {
	s.Helper()
	return s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("want %s=%s %s", kind, status, reason)
		}
		return nil
	})
}

// without waits until a condition is false; Stalled is absent then.
func (s *suite) without(name, kind string) autorebootv1.RebootPolicyStatus {
	s.Helper()
	return s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		isAbsent := meta.FindStatusCondition(st.Conditions, kind) == nil
		if isAbsent != (kind == autorebootv1.ConditionStalled) || !isAbsent && !meta.IsStatusConditionFalse(st.Conditions, kind) {
			return fmt.Errorf("want %s=False, or Stalled absent", kind)
		}
		return nil
	})
}

// watching waits until a policy watches all it was asked to, for so many targets.
func (s *suite) watching(name string, targets int) {
	s.Helper()
	s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		if c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue || c.Reason != autorebootv1.ReasonWatching {
			return fmt.Errorf("want Ready=True Watching")
		}
		if len(st.Targets) != targets {
			return fmt.Errorf("%d targets, want %d", len(st.Targets), targets)
		}
		return nil
	})
}

// held waits until a target's restart waits for a reason.
func (s *suite) held(name, target, reason string) autorebootv1.RebootPolicyStatus {
	s.Helper()
	return s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		if !meta.IsStatusConditionTrue(st.Conditions, autorebootv1.ConditionWaiting) {
			return fmt.Errorf("want Waiting")
		}
		for _, t := range st.Targets {
			if t.Name == target && t.Pending != nil && t.Pending.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("want %s to wait for %s", target, reason)
	})
}

// ended waits until exactly so many restarts have ended and none is in flight, and returns them, the
// latest first.
func (s *suite) ended(name string, n int) []autorebootv1.RestartRecord {
	s.Helper()
	status := s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.History) < n || len(st.InFlight) > 0 {
			return fmt.Errorf("%d restarts have ended, want %d", len(st.History), n)
		}
		return nil
	})
	if len(status.History) > n {
		s.Fatalf("%s: %d restarts, want %d: %s", name, len(status.History), n, framework.Text(status.History))
	}
	ids := map[string]bool{}
	for _, record := range status.History {
		if ids[record.ID] {
			s.Errorf("%s: two restarts are called %s: %s", name, record.ID, framework.Text(status.History))
		}
		ids[record.ID] = true
	}
	return status.History
}

// succeeded waits until exactly so many restarts have ended, all of them well.
func (s *suite) succeeded(name string, n int) []autorebootv1.RestartRecord {
	s.Helper()
	history := s.ended(name, n)
	for _, record := range history {
		if record.Result != autorebootv1.ResultSucceeded || record.Reason != autorebootv1.ReasonStayedAvailable {
			s.Errorf("%s: want %s, Verified: %s", name, autorebootv1.ResultSucceeded, framework.Text(record))
		}
	}
	return history
}

// quiet is nil while a policy has nothing to do and has ended exactly so many restarts.
func (s *suite) quiet(name string, restarts int) error {
	policy, err := s.get(name)
	if err != nil {
		return err
	}
	st := policy.Status
	for _, target := range st.Targets {
		if target.Pending != nil {
			return fmt.Errorf("%s: a restart of %s waits: %s", name, target.Name, framework.Text(st))
		}
	}
	if len(st.InFlight) > 0 || len(st.History) != restarts {
		return fmt.Errorf("%s: want %d restarts, and none to come: %s", name, restarts, framework.Text(st))
	}
	return nil
}

// of are the records of one target.
func of(history []autorebootv1.RestartRecord, target string) []autorebootv1.RestartRecord {
	return slices.DeleteFunc(slices.Clone(history), func(r autorebootv1.RestartRecord) bool { return r.Target.Name != target })
}

// normal ends the test unless a policy reads as current to a client that waits for a rollout.
func (s *suite) normal(name string) {
	s.Helper()
	policy, err := s.get(name)
	s.Must(err)
	if policy.Status.ObservedGeneration != policy.Generation || !meta.IsStatusConditionTrue(policy.Status.Conditions, autorebootv1.ConditionReady) {
		s.Errorf("%s: not ready at generation %d: %s", name, policy.Generation, framework.Text(policy.Status))
	}
	for _, c := range policy.Status.Conditions {
		if c.Type == "Reconciling" || c.Type == autorebootv1.ConditionStalled {
			s.Errorf("%s: %s stands while all is normal: %s", name, c.Type, c.Message)
		}
		if c.ObservedGeneration != policy.Generation {
			s.Errorf("%s: %s speaks of generation %d, want %d", name, c.Type, c.ObservedGeneration, policy.Generation)
		}
	}
}
