// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"testing"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// seldom is a check whose second result is far away: what changes within a minute has changed by first results.
const seldom = `healthCheck: {tcpSocket: {}, interval: 5m, unhealthyInterval: 5m, timeout: 2s, failureThreshold: 10, successThreshold: 10}`

// areHealthy waits until so many addresses are healthy, published or not.
func (s *suite) areHealthy(name string, n int32) {
	s.Helper()
	s.Eventually(func() error {
		if got := s.status(name).Addresses; got == nil || got.Healthy != n {
			return fmt.Errorf("%s: the addresses are %s, want %d healthy", name, framework.Text(got), n)
		}
		return nil
	})
}

func TestAPortOnWhichNothingListensIsLeftAtItsFirstCheckAndItsCorrectionIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, _ := s.tcp(7000, 3)
	primary, secondary, single := addresses[0], addresses[1], addresses[2]
	alone := func(port int) string {
		return fmt.Sprintf(`{ports: [{name: p, port: 80, targetPort: %d}], endpoints: [{name: a, addresses: [%s]}], %s}`, port, single, seldom)
	}
	pair := func(port int) string {
		return fmt.Sprintf(`{ports: [{name: p, port: 7000}], failover: {failbackDelay: 1s}, %s, endpoints: [
			{name: a, ports: [{name: p, port: %d}], addresses: [%s]}, {name: b, priority: 1, addresses: [%s]}]}`, seldom, port, primary, secondary)
	}
	s.apply("alone", alone(7000))
	s.apply("pair", pair(7000))
	s.healthy("alone", single)
	s.areHealthy("pair", 2)
	s.publishes("alone", single)
	s.publishes("pair", primary)
	g := s.watchGaps()

	s.rewrite("alone", alone(7999))
	s.rewrite("pair", pair(7999))
	s.becomes("alone", single, networkingv1.AddressUnhealthy, networkingv1.ProbeRefused)
	s.publishes("alone")
	s.publishes("pair", secondary)
	s.latestChange("pair", networkingv1.ChangeFailover, networkingv1.ReasonPriorityUnhealthy)
	if found := g.of("pair"); len(found) > 0 {
		t.Errorf("no address was ready for %s although the standby was", found)
	}

	s.rewrite("alone", alone(7000))
	s.rewrite("pair", pair(7000))
	s.publishes("alone", single)
	s.publishes("pair", primary)
}

func TestADeadHostThatIsRemovedMovesNoTraffic(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(7000, 3)
	s.apply("hosts", priorities("", addresses[:1], addresses[1:2], addresses[2:]))
	s.areHealthy("hosts", 3)
	s.publishes("hosts", addresses[0])
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[0])
	s.publishes("hosts", addresses[1])
	s.latestChange("hosts", networkingv1.ChangeFailover, networkingv1.ReasonPriorityUnhealthy)

	s.rewrite("hosts", priorities("", addresses[1:2], addresses[2:]))
	s.active("hosts", 0)
	s.without("hosts", networkingv1.ConditionFailedOver)
	s.publishes("hosts", addresses[1])
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[1])
	s.publishes("hosts", addresses[2])
	s.active("hosts", 1)
	if history := s.status("hosts").History; len(history) != 2 || *history[0].FromPriority != 0 || *history[0].ToPriority != 1 {
		t.Errorf("the history is %+v, want both failovers and nothing for the edit", history)
	}
}
