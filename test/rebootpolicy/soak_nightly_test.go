// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestScalingDuringASoakIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{deployment, statefulSet} {
		for _, to := range []int{5, 1} {
			t.Run(fmt.Sprintf("%s from 2 to %d", kind, to), func(t *testing.T) {
				t.Parallel()
				s := newSuite(t)
				s.secret("creds", "password", "first")
				s.run(kind, "web", takes("creds"), replicas(2), slow("3s"))
				s.policy("p", "{"+targets(kind, "web")+", "+onConfig+", verification: {soak: 8s, timeout: 110s}, retry: {maxAttempts: 1, backoff: 1s}}")
				s.watching("p", 1)
				s.secret("creds", "password", "second")
				s.rolling("p", autorebootv1.PhaseSoaking)
				s.Merge("apps/v1", kind, "web", fmt.Sprintf("{spec: {replicas: %d}}", to))
				s.succeeded("p", 1)
				s.available(kind, "web")
				s.Never(func() error { return s.quiet("p", 1) })
				s.generation(kind, "web", 3) // one restart, one change of replicas
			})
		}
	}
}

func TestAStatefulSetWithAPartitionTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(statefulSet, "db", takes("creds"), replicas(3), with(int64(1), "spec", "updateStrategy", "rollingUpdate", "partition"))
	s.policy("p", "{"+targets(statefulSet, "db")+", "+onConfig+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	if history := s.succeeded("p", 1); !strings.Contains(history[0].Message, "db-0") {
		t.Errorf("want a message that names db-0: %s", framework.Text(history))
	}
}

func TestAPipelineWaitsForItsRestartByOneCommand(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	for _, token := range []string{"one", "two"} {
		s.Kubectl("annotate", "--overwrite", "rebootpolicy", "p", autorebootv1.RestartNowAnnotation+"="+token)
		s.Kubectl("wait", "rebootpolicy/p", "--for=jsonpath={.status.verifiedRestartNow}="+token, "--timeout=100s")
	}
	s.succeeded("p", 2)
	out := s.Kubectl("get", "rebootpolicy", "p")
	for _, column := range []string{"STATE", "VERIFIED", "WAITING-FOR", "Idle"} {
		if !strings.Contains(out, column) {
			t.Errorf("kubectl get shows no %s:\n%s", column, out)
		}
	}
}

func TestPodsThatAreReplacedByHandSupersedeARestart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(daemonSet, "agent", takes("creds"), with("OnDelete", "spec", "updateStrategy", "type"))
	s.run(statefulSet, "db", takes("creds"), replicas(2), with(int64(2), "spec", "updateStrategy", "rollingUpdate", "partition"))
	s.policy("p", "{targets: [{kind: DaemonSet, name: agent}, {kind: StatefulSet, name: db}], "+onConfig+"}")
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.held("p", "agent", autorebootv1.ReasonOnDelete)
	s.held("p", "db", autorebootv1.ReasonPartitioned)
	for _, app := range []string{"agent", "db"} {
		s.Kubectl("delete", "pod", "-l", "app="+app, "--wait=false") // kubectl may take the successor of a name for the pod
	}
	for _, record := range s.ended("p", 2) {
		if record.Result != autorebootv1.ResultSuperseded || record.Reason != autorebootv1.ReasonNewerPods {
			t.Errorf("want it Superseded, NewerPods: %s", framework.Text(record))
		}
	}
	s.without("p", autorebootv1.ConditionWaiting)
	s.generation(daemonSet, "agent", 1)
	s.generation(statefulSet, "db", 1)
}
