// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
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

// The policy is that of the guide, with shorter times. After a failover, other addresses are published too: they ask for no other
// restart once they have stayed for the failbackDelay.
func TestADatabaseThatFailsOverRestartsWhatDependsOnItOnce(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	primary, standby := s.Servers.Address(), s.Servers.Address()
	server := s.server(s.Servers.TCP(primary + ":5432"))
	s.server(s.Servers.TCP(standby + ":5432"))
	s.Apply(fmt.Sprintf(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: orders-db}, spec: {
		ports: [{name: postgres, port: 5432}],
		endpoints: [{name: primary, addresses: [%s]}, {name: standby, addresses: [%s], priority: 1}], failover: {failbackDelay: 3s},
		healthCheck: {tcpSocket: {}, interval: 1s, unhealthyInterval: 1s, timeout: 1s, successThreshold: 1, failureThreshold: 1}}}`,
		primary, standby))
	s.healthy("orders-db", metav1.ConditionTrue)
	dependants := map[string]string{"web": deployment, "worker": statefulSet}
	for name, kind := range dependants {
		s.run(kind, name, bare, labeled("uses", "orders-db"))
	}
	s.run(deployment, "reconnects", bare, with("externalservice/orders-db", "metadata", "annotations", common.DependsOnAnnotation))
	s.run(deployment, "other", bare, labeled("uses", "other-db"))

	const policy = "clients-of-orders-db"
	s.Apply(strings.ReplaceAll(s.ofGuide("managed-database", "kind: RebootPolicy"), "namespace: shop", "namespace: "+s.Namespace))
	s.Merge("autoreboot.fairlead.dev/v1", "RebootPolicy", policy, "{spec: {debounce: {quietPeriod: 1s}, verification: {soak: 1s}}}")
	s.watching(policy, len(dependants))

	for i, fault := range []externalnet.Behavior{{Fault: externalnet.Refuse}, {}} { // fails over, and back
		s.Must(server.Set(fault))
		s.succeeded(policy, (i+1)*len(dependants))
		s.shows(policy, func(st autorebootv1.RebootPolicyStatus) error {
			if state := st.Triggers[0].State; state != autorebootv1.TriggerIdle {
				return fmt.Errorf("the trigger is %s", state)
			}
			return nil
		})
		s.Never(func() error { return s.quiet(policy, (i+1)*len(dependants)) })
		for name, kind := range dependants {
			s.restarted(kind, name, i+1)
		}
	}
	s.restarted(deployment, "reconnects", 0)
	s.restarted(deployment, "other", 0)
}

// ofGuide returns the manifest of a guide that has a text.
func (s *suite) ofGuide(name, with string) string {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join(framework.Root, "docs", "guides", name+".md"))
	s.Must(err)
	for i, part := range strings.Split(string(raw), "```") {
		if manifest, is := strings.CutPrefix(part, "yaml\n"); i%2 == 1 && is && strings.Contains(manifest, with) {
			return manifest
		}
	}
	s.Fatalf("%s has no manifest with %q", name, with)
	return ""
}
