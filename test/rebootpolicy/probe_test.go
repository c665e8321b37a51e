// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// answers opens a port that every pod answers on, by HTTP.
func (s *suite) answers() *externalnet.Fleet {
	s.Helper()
	fleet, err := externalnet.OpenFleet(externalnet.FleetOptions{Protocol: externalnet.FleetHTTP, Workers: 8})
	s.Must(err)
	s.Cleanup(func() { _ = fleet.Close() })
	s.Cleanup(s.forget)
	return fleet
}

// ips are those of a workload's pods that stay.
func (s *suite) ips(app string) []netip.Addr {
	s.Helper()
	var ips []netip.Addr
	for _, pod := range s.pods(app) {
		if pod.DeletionTimestamp != nil {
			continue
		}
		ip, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil {
			s.Fatalf("pod %s: %v", pod.Name, err)
		}
		ips = append(ips, ip)
	}
	return ips
}

// checked waits until each address was asked so many times more.
func (s *suite) checked(fleet *externalnet.Fleet, ips []netip.Addr, more int) {
	s.Helper()
	before := map[netip.Addr]int{}
	for _, ip := range ips {
		before[ip] = fleet.Count(ip)
	}
	s.Eventually(func() error {
		for _, ip := range ips {
			if n := fleet.Count(ip) - before[ip]; n < more {
				return fmt.Errorf("%s was asked %d times more, want %d", ip, n, more)
			}
		}
		return nil
	})
}

// answered waits until the status of a policy remembers of each target that its check has succeeded.
func (s *suite) answered(name string) {
	s.Helper()
	s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		for _, target := range st.Targets {
			if !slices.ContainsFunc(target.Baselines, func(b autorebootv1.Baseline) bool { return b.Fingerprint == "Answered" }) {
				return fmt.Errorf("%s has not answered", target.Name)
			}
		}
		return nil
	})
}

// onProbe checks the pods at a port, by its number or by the name that a container has for it.
func onProbe(port any) string {
	return fmt.Sprintf(`triggers: [{name: stuck, type: Probe, probe: {httpGet: {path: /healthz, port: %v}, interval: 1s, timeout: 1s, failureThreshold: 2}}]`, port)
}

// amongWell has three workloads of another policy answer well until the test ends: where everything
// fails at once, the operator rightly suspects itself.
func (s *suite) amongWell(fleet *externalnet.Fleet) {
	s.Helper()
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprintf("well-%d", i))
		s.workload(deployment, names[i], bare, replicas(3))
	}
	for _, name := range names {
		s.available(deployment, name)
	}
	s.policy("well", "{"+targets(deployment, names...)+", "+onProbe(fleet.Port())+"}")
	s.watching("well", len(names))
	for _, name := range names {
		s.checked(fleet, s.ips(name), 1)
	}
}

// surge has all new pods be there before any old one goes, so that no IP is used again.
func surge(n int64) edit {
	return with(map[string]any{"maxSurge": n, "maxUnavailable": int64(0)}, "spec", "strategy", "rollingUpdate")
}

func TestPodsThatStopAnsweringAreRestarted(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	fleet := s.answers()
	s.amongWell(fleet)
	s.run(deployment, "web", fmt.Sprintf("{containers: [{name: main, image: none, ports: [{name: health, containerPort: %d}]}]}", fleet.Port()),
		replicas(4), surge(4))
	s.policy("p", "{"+targets(deployment, "web")+", "+onProbe("health")+"}")
	s.watching("p", 1)
	sick := s.ips("web")
	s.checked(fleet, sick, 1)
	s.answered("p")

	// One of four is for its own liveness probe to restart.
	s.Must(fleet.Fail(sick[0]))
	s.checked(fleet, sick, 5)
	s.Must(s.quiet("p", 0))
	s.restarted(deployment, "web", 0)

	s.Must(fleet.Fail(sick...))
	history := s.succeeded("p", 1)
	if !slices.Equal(history[0].Triggers, []string{"stuck"}) {
		t.Errorf("restarted for %q", history[0].Triggers)
	}
	s.restarted(deployment, "web", 1)
	s.Tells(deployment, "web", "RestartStarted", 1)
	s.checked(fleet, s.ips("web"), 5)
	s.Must(s.quiet("p", 1))
	s.restarted(deployment, "web", 1)
	s.Must(s.quiet("well", 0))
}

func TestAProbeThatCannotBeMadeIsSaidInACondition(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	probes := func(probe string) string {
		return "{" + targets(deployment, "web") + ", triggers: [{name: stuck, type: Probe, probe: {" + probe + ", interval: 1s, timeout: 1s, failureThreshold: 2}}]}"
	}
	s.policy("named", probes("tcpSocket: {port: sql}"))
	host := "stuck." + s.Namespace + ".example.com"
	s.Must(s.Servers.DNS.Addresses(host, time.Second, "169.254.169.254"))
	s.policy("denied", probes("host: "+host+", tcpSocket: {port: 80}"))
	for name, words := range map[string]string{"named": `no container of its pods has a TCP port with the name "sql"`, "denied": "the egress policy refuses"} {
		s.condition(name, autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonProbeUnavailable)
		s.explains(name, autorebootv1.ConditionReady, words)
	}
	s.restarted(deployment, "web", 0)

	// Both get well by themselves, or by an edit.
	address := s.Servers.Address()
	s.server(s.Servers.TCP(address + ":80"))
	s.Must(s.Servers.DNS.Addresses(host, time.Second, address))
	s.watching("denied", 1)
	s.policy("named", probes("host: "+address+", tcpSocket: {port: 80}"))
	s.watching("named", 1)
	s.restarted(deployment, "web", 0)
}
