// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// tells runs the shipped command, and returns its exit code and what it prints.
func (s *suite) tells(arguments ...string) (code int, printed string) {
	s.Helper()
	command := exec.CommandContext(s.Context(), filepath.Join(framework.Root, "bin", "fairlead"),
		append(arguments, "--kubeconfig="+s.Kubeconfig(), "--namespace="+s.Namespace)...)
	output, err := command.Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return ended.ExitCode(), string(output) + string(ended.Stderr)
	}
	s.Must(err)
	return 0, string(output)
}

// leads starts a replica, and returns when it leads. The durations of its election are the defaults.
func (s *suite) leads() *framework.Replica {
	s.Helper()
	leader, err := s.StartReplica(s.Context(), "--set=externalServices.drainPeriod=1s")
	s.Must(err)
	s.Must(s.Reachable(s.Context()))
	if got := s.Leader(); got != leader {
		s.Fatalf("%s leads, want %s", got.ID, leader.ID)
	}
	return leader
}

// The status that a leader has left says nothing about servers that have died since.
func TestStatusAndWhySayFirstThatNoReplicaLeads(t *testing.T) {
	t.Parallel()
	servers, err := tests.Servers()
	if err != nil {
		t.Fatal(err)
	}
	own := tests.OpenFor(t, framework.Options{Servers: servers, Cluster: cluster.Options{WithoutControllerManager: true}})
	s := &suite{framework.NewTest(t, own)}
	addresses, databases := s.tcp(5432, 2)
	const spec = `{ports: [{name: sql, port: 5432}], failover: {failback: Manual}, ` + quickly + `, endpoints: [{name: a, addresses: [%s]}, {name: b, priority: 1, addresses: [%s]}]}`
	leader := s.leads()
	s.apply("well", fmt.Sprintf(spec, addresses[1], addresses[0]))
	s.apply("db", fmt.Sprintf(spec, addresses[0], addresses[1]))
	awaited := func() { // db could fail back
		t.Helper()
		s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackManual)
		s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		s.condition("well", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		s.condition("well", networkingv1.ConditionFailedOver, metav1.ConditionFalse, networkingv1.ReasonMostPreferred)
	}
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, databases[0])
	s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy)
	s.set(externalnet.Behavior{}, databases[0])
	awaited()
	const offer = "`fairlead failback externalservice/db"
	led := func(when string) (status string) {
		t.Helper()
		code, status := s.tells("status")
		if _, why := s.tells("why", "externalservice/db"); code != 0 || strings.Contains(status, "reconcile") || !strings.Contains(why, offer) {
			t.Errorf("%s status ends with %d:\n%s\nwhy:\n%s", when, code, status, why)
		}
		return status
	}
	before := led("at first")

	for _, end := range []struct {
		name, says string
		run        func()
		back       func()
	}{
		{"the leader is stopped by SIGSTOP", "has not renewed Lease " + framework.Namespace + "/fairlead-manager", func() {
			s.Must(syscall.Kill(leader.PID(), syscall.SIGSTOP))
		}, func() {
			s.Must(syscall.Kill(leader.PID(), syscall.SIGCONT)) // it finds that it lost the Lease, and ends
			s.Retire(leader)
		}},
		{"the leader has ended", "has released Lease " + framework.Namespace + "/fairlead-manager", func() { s.Retire(leader) }, func() {}},
	} {
		end.run()
		s.set(externalnet.Behavior{Fault: externalnet.Refuse}, databases...)
		var status string
		s.Eventually(func() error {
			var code int
			if code, status = s.tells("status"); code != 1 {
				return fmt.Errorf("status ends with %d:\n%s", code, status)
			}
			return nil
		})
		said := "No operator reconciles since "
		if first, _, _ := strings.Cut(status, "\n"); !strings.HasPrefix(first, said) || !strings.Contains(first, end.says) {
			t.Errorf("%s: the first line is not that no replica leads, and since when:\n%s", end.name, status)
		}
		_, why := s.tells("why", "externalservice/db")
		t.Logf("%s:\n%s\n%s", end.name, status, why)
		operator, failedOver := strings.Index(why, "Operator is Failed since "), strings.Index(why, "FailedOver is True")
		if operator < 0 || failedOver < operator || !strings.Contains(why, end.says) {
			t.Errorf("%s: why does not say it first:\n%s", end.name, why)
		}
		if strings.Contains(why, "is Healthy") || strings.Contains(why, "check succeeds") {
			t.Errorf("%s: why calls a server healthy that is dead:\n%s", end.name, why)
		}
		_, whyWell := s.tells("why", "externalservice/well")
		for _, never := range []string{"Healthy\n", "Healthy ", "Healthy.", "as its spec says", "fairlead failback"} {
			for _, text := range []string{status, strings.Split(why, "\n")[0], strings.Split(whyWell, "\n")[0]} {
				if strings.Contains(text+"\n", never) {
					t.Errorf("%s: it says %q:\n%s", end.name, never, text)
				}
			}
			if never == "fairlead failback" && strings.Contains(why, never) {
				t.Errorf("%s: it advises a failback to a server that is dead:\n%s", end.name, why)
			}
		}
		var shown struct {
			Leaders []struct {
				Lease, Holder, Message, Remedy string
				Leads                          bool
				Since                          *metav1.Time
			}
		}
		code, raw := s.tells("status", "--output=json")
		s.Must(json.Unmarshal([]byte(raw), &shown))
		if code != 1 || len(shown.Leaders) != 1 || shown.Leaders[0].Leads || shown.Leaders[0].Since == nil || !strings.Contains(shown.Leaders[0].Message, end.says) {
			t.Errorf("%s: it ends with %d:\n%s", end.name, code, raw)
		}

		s.set(externalnet.Behavior{}, databases...)
		end.back()
		s.Must(s.FreeLease(s.Context())) // that it expires is not waited for
		leader = s.leads()
		awaited()
		if diff := cmp.Diff(before, led("after "+end.name+", and another leads,")); diff != "" {
			t.Errorf("after %s, and another leads, status says (-before +now):\n%s", end.name, diff)
		}
	}
}
