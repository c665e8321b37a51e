// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// rapidly is a check by HTTP that every test here has.
const rapidly = `healthCheck: {httpGet: {}, interval: 1s, unhealthyInterval: 1s, timeout: 1s, jitterPercent: 0, failureThreshold: 3, successThreshold: 1}`

// crowd is a fleet whose addresses are well until they are told to fail.
type crowd struct {
	*suite
	fleet *externalnet.Fleet
}

func (s *suite) crowd() *crowd {
	s.Helper()
	fleet, err := externalnet.OpenFleet(externalnet.FleetOptions{Protocol: externalnet.FleetHTTP, Workers: 16})
	s.Must(err)
	s.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			s.Error(err)
		}
	})
	return &crowd{s, fleet}
}

// fail makes exactly these addresses fail.
func (c *crowd) fail(addresses ...string) {
	c.Helper()
	var all []netip.Addr
	for _, address := range addresses {
		all = append(all, netip.MustParseAddr(address))
	}
	c.Must(c.fleet.Fail(all...))
}

// spec has one endpoint for each priority from 0 up, all at the crowd's port.
func (c *crowd) spec(priorities ...[]string) string {
	var endpoints []string
	for priority, addresses := range priorities {
		endpoints = append(endpoints, fmt.Sprintf(`{name: p%d, priority: %d, addresses: ["%s"]}`, priority, priority, strings.Join(addresses, `", "`)))
	}
	return fmt.Sprintf(`{ports: [{name: p, port: %d}], endpoints: [%s], %s}`, c.fleet.Port(), strings.Join(endpoints, ", "), rapidly)
}

// suspected is the metric that says whether the operator takes failures for its own.
func (s *suite) suspected() string {
	s.Helper()
	for line := range strings.Lines(s.Figures()) {
		if value, found := strings.CutPrefix(line, `fairlead_probe_inconclusive{kind="ExternalService"} `); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// It runs while no other test does, as above.
func TestTheLossOfASiteFailsOver(t *testing.T) {
	s := newSuite(t)
	s.alone()
	c := s.crowd()
	site, elsewhere := s.Servers.Address(), s.Servers.Address()
	specs := map[string]string{"dc": c.spec([]string{site}, []string{elsewhere})}
	for i := range 100 {
		specs[fmt.Sprint("o", i)] = c.spec([]string{site})
	}
	s.applyAll(specs)
	for name := range specs {
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	}
	c.fail(site)
	s.publishes("dc", elsewhere)
	s.active("dc", 1)
}

// warns waits for an Event on the operator.
func (s *suite) warns(reason string) {
	s.Helper()
	s.Eventually(func() error {
		var list corev1.EventList
		if err := s.Client.List(s.Context(), &list, client.MatchingFields{"involvedObject.kind": "Lease"}); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("no Event %s on the operator's Lease", reason)
	})
}
