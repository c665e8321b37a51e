// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// residents is how many addresses the population has: far more than tests break at once.
const residents = 200

// everyday is an ExternalService with many addresses that are always well. The operator mistrusts
// itself when more than half of all addresses begin to fail at once: what tests break at the same
// time must stay the lesser part.
const everyday = "everyday"

// populate makes the population once, and returns its namespace.
var populate = struct {
	once      sync.Once
	namespace string
}{}

// population creates the objects of an ordinary day.
func (s *suite) population() *suite {
	s.Helper()
	populate.once.Do(func() {
		fleet, err := externalnet.OpenFleet(externalnet.FleetOptions{Workers: 16}) // it ends with the process
		s.Must(err)
		var addresses []string
		for range residents {
			addresses = append(addresses, s.Servers.Address())
		}
		p := newSuite(s.T)
		p.apply(everyday, fmt.Sprintf(`{ports: [{name: p, port: %d}],
			endpoints: [{name: a, addresses: [%s]}, {name: b, addresses: [%s]}],
			healthCheck: {tcpSocket: {}, interval: 8s, timeout: 8s}}`,
			fleet.Port(), strings.Join(addresses[:residents/2], ","), strings.Join(addresses[residents/2:], ",")))
		populate.namespace = p.Namespace
	})
	if populate.namespace == "" {
		s.Fatal("there is no population: see the test that was to make it")
	}
	p := s.in(s.T)
	p.Namespace = populate.namespace
	return p
}

// amongMany waits until the population is there and well. Every test that breaks what is checked
// says this first.
func (s *suite) amongMany() {
	s.Helper()
	s.population().condition(everyday, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
}

// alone suspends the population until the test ends: its addresses do not count meanwhile.
func (s *suite) alone() {
	s.Helper()
	s.amongMany()
	p := s.population()
	p.change(everyday, func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	s.Cleanup(func() {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			var es networkingv1.ExternalService
			if err := p.Client.Get(tests.Context, client.ObjectKey{Namespace: p.Namespace, Name: everyday}, &es); err != nil {
				return err
			}
			es.Spec.Suspend = ptr.To(false)
			return p.Client.Update(tests.Context, &es)
		})
		if err != nil {
			s.Errorf("the population stays suspended: %v", err)
		}
	})
}
