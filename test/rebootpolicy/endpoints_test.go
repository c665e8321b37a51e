// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

func TestAnExternalServiceThatMovesRestartsItsClients(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var addresses []string
	var servers []*externalnet.Server
	for range 3 {
		address := s.Servers.Address()
		addresses = append(addresses, address)
		servers = append(servers, s.server(s.Servers.TCP(address+":5432")))
	}
	s.external("db", addresses[0], 5432, metav1.ConditionTrue)
	s.run(deployment, "web", bare)
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db}}]}`)
	s.watching("p", 1)
	s.external("db", addresses[1], 5432, metav1.ConditionTrue)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)

	// A standby is added, which is no move yet, and then it has to stand in.
	s.policy("over", "{"+targets(deployment, "web")+`, triggers: [{name: over, type: EndpointsChange, endpointsChange: {externalServiceName: db, events: [FailedOver]}}]}`)
	s.policy("p", "{suspend: true, "+targets(deployment, "web")+`, triggers: [{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db}}]}`)
	s.watching("over", 1)
	s.Merge("networking.fairlead.dev/v1", "ExternalService", "db", fmt.Sprintf("{spec: {endpoints: [{name: a, addresses: [%s]}, {name: b, priority: 1, addresses: [%s]}]}}", addresses[1], addresses[2]))
	s.healthy("db", metav1.ConditionTrue)
	s.Never(func() error { return s.quiet("over", 0) })
	s.Must(servers[1].Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	s.succeeded("over", 1)
	s.restarted(deployment, "web", 2)
}
