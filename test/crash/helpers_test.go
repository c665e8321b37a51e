// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// pods is how many the workload has.
const pods = 2

// newWorkload returns a suite with a workload that takes a Secret, and a policy. The strategy is a type of
// spec.strategy; slow is how long a pod takes until it is ready.
func newWorkload(t *testing.T, strategy autorebootv1.StrategyType, slow string) *suite {
	t.Helper()
	s := newSuite(t)
	s.Make("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: first}}")
	s.deploy("web", ", annotations: {kwok.fairlead.dev/ready-after: "+slow+"}", "envFrom: [{secretRef: {name: creds}}]")
	s.Make(fmt.Sprintf(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: p}, spec: {
		targets: [{kind: Deployment, name: web}], triggers: [{name: config, type: ConfigChange}], strategy: {type: %s},
		debounce: {quietPeriod: 0s}, cooldown: 0s, limit: {maxRestarts: 100, within: 1h}, retry: {maxAttempts: 0},
		verification: {soak: 1s, timeout: 10m}, historyLimit: 50}}`, strategy))
	return s
}

// deploy makes a Deployment, and waits until its pods are ready. Meta and container are added to those
// of the template.
func (s *suite) deploy(name, meta, container string) {
	s.Helper()
	s.Make(fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, revisionHistoryLimit: 100,
		selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}%[3]s},
		spec: {containers: [{name: main, image: none, %[4]s}]}}}}`, name, pods, meta, container))
	s.Eventually(func() error {
		d := s.deployment(name)
		if st := d.Status; st.ObservedGeneration != d.Generation || st.AvailableReplicas != pods || st.Replicas != pods {
			return fmt.Errorf("not available: %s", framework.Text(st))
		}
		return nil
	})
}

// change gives the Secret another value.
func (s *suite) change(value string) {
	s.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "creds", Namespace: s.Namespace}, StringData: map[string]string{"password": value}}
	s.Must(s.Client.Update(s.Context(), secret))
}

// launch runs an operator behind a gateway. It reconciles the test's namespace alone, and ends with
// the test.
func (s *suite) launch(g *gateway, args ...string) *framework.Replica {
	s.Helper()
	replica, err := s.Launch(s.Context(), append([]string{"--kubeconfig=" + g.kubeconfig, "--set=namespaces=" + s.Namespace,
		"--set=webhook.certificates.injectCA=false", "--set=webhook.drainDelay=0s"}, args...)...)
	s.Must(err)
	s.Cleanup(replica.Kill)
	return replica
}

func (s *suite) deployment(name string) *appsv1.Deployment {
	s.Helper()
	var d appsv1.Deployment
	s.Must(s.Get(name, &d))
	return &d
}

func (s *suite) status() autorebootv1.RebootPolicyStatus {
	s.Helper()
	var policy autorebootv1.RebootPolicy
	s.Must(s.Get("p", &policy))
	return policy.Status
}

// watched waits until the policy has its baseline.
func (s *suite) watched() {
	s.Helper()
	s.Eventually(func() error {
		if st := s.status(); len(st.Targets) != 1 || len(st.Targets[0].Baselines) == 0 {
			return fmt.Errorf("no baseline yet: %s", framework.Text(st))
		}
		return nil
	})
}

// ended is nil once so many restarts have, all of them well, and nothing is to come.
func (s *suite) ended(n int) error {
	s.Helper()
	st := s.status()
	if len(st.History) < n || len(st.InFlight) > 0 || st.Targets[0].Pending != nil {
		if st.Halt != nil {
			s.Fatalf("the policy has halted: %s", framework.Text(st))
		}
		return fmt.Errorf("%d restarts have ended, want %d: %s", len(st.History), n, framework.Text(st))
	}
	return nil
}

// restarted ends the test unless there were exactly so many restarts, of everything that there is
// one of.
func (s *suite) restarted(strategy autorebootv1.StrategyType, n int) {
	s.Helper()
	st, web := s.status(), s.deployment("web")
	ids := map[string]bool{}
	for _, record := range st.History {
		ids[record.ID] = true
		if record.Result != autorebootv1.ResultSucceeded {
			s.Errorf("want it Succeeded: %s", framework.Text(record))
		}
	}
	if len(st.History) != n || len(ids) != n {
		s.Errorf("%d restarts of %d ids are recorded, want %d: %s", len(st.History), len(ids), n, framework.Text(st.History))
	}
	templates := 1
	if strategy == autorebootv1.StrategyRolloutRestart {
		templates += n
		if id := web.Spec.Template.Annotations[autorebootv1.RestartIDAnnotation]; n > 0 && id != st.History[0].ID {
			s.Errorf("the template carries restart %q, want %q", id, st.History[0].ID)
		}
	}
	if web.Generation != int64(templates) {
		s.Errorf("the workload was written %d times, want %d", web.Generation-1, templates-1)
	}
	var sets appsv1.ReplicaSetList
	s.Must(s.Client.List(s.Context(), &sets, client.InNamespace(s.Namespace)))
	if len(sets.Items) != templates {
		s.Errorf("%d ReplicaSets, want %d", len(sets.Items), templates)
	}
	s.Eventually(func() error { // the watch may be a little behind
		if seen := s.herd.size("web"); seen < pods*(1+n) {
			return fmt.Errorf("%d pods in all, want each of %d replaced %d times", seen, pods, n)
		}
		return nil
	})
	if seen := s.herd.size("web"); seen > pods*(1+n) {
		s.Errorf("%d pods in all, want each of %d replaced %d times", seen, pods, n)
	}
	// A crash may keep an event from being told. None may be told that is not true.
	told := s.told("RebootPolicy", "p")
	for _, reason := range []string{"RestartPlanned", "RestartStarted", "RestartVerified"} {
		if told[reason] > n {
			s.Errorf("%d events %s of %d restarts", told[reason], reason, n)
		}
	}
	for _, reason := range []string{"RestartFailed", "TargetReverted", "LimitReached"} {
		if told[reason] > 0 {
			s.Errorf("%d events %s", told[reason], reason)
		}
	}
}

// told counts the events about an object, by reason.
func (s *suite) told(kind, name string) map[string]int {
	s.Helper()
	told := map[string]int{}
	for reason, all := range s.Told(kind, name) {
		told[reason] = len(all)
	}
	return told
}
