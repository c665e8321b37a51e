// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// fieldTests are those that show fields of the spec acting.
var fieldTests = framework.FieldTests{
	"externalservice.TestANameLeadsToAllOfItsAddresses":                  {"endpoints.dns.name", "endpoints.dns.recordType", "ports.targetPort"},
	"externalservice.TestNamesAreLookedUpAsOftenAsTheirTTLsWithinLimits": {"resolution.minTTL", "resolution.maxTTL"},
	"externalservice.TestAddressesOfANameThatFailsGoWhenThatIsWanted":    {"resolution.onFailure", "resolution.keepLastFor"},
	"externalservice.TestThePrimaryFailsOverAndIsTakenAgainAfterTheDelay": {
		"endpoints.addresses", "endpoints.priority", "endpoints.zone", "failover.failbackDelay", "historyLimit",
	},
	"externalservice.TestManualFailbackWaitsUntilItIsAskedForEachTime": {"failover.failback"},
	"externalservice.TestAPriorityNeedsEnoughHealthyAddresses":         {"failover.minHealthyPercent"},
	"externalservice.TestWithoutAnyHealthyAddressOnlyPanicPublishes":   {"failover.panicThresholdPercent"},
	"externalservice.TestADrainedEndpointIsOutAtOnce":                  {"endpoints.state"},
	"externalservice.TestAProbeAsksForTheNameAndThePathAndFollowsNoRedirect": {
		"healthCheck.httpGet.path", "healthCheck.httpGet.hostHeader", "healthCheck.grpc.service", "healthCheck.tls.caSecretName", "healthCheck.tls.serverName",
	},
	"externalservice.TestExpectedStatusesAreTheOnlyGoodOnes":                {"healthCheck.httpGet.expectedStatuses.start", "healthCheck.httpGet.expectedStatuses.end"},
	"externalservice.TestHealthTurnsOnlyAfterSoManyResultsInARow":           {"healthCheck.successThreshold", "healthCheck.failureThreshold"},
	"externalservice.TestProbesKeepTheirPace":                               {"healthCheck.interval", "healthCheck.unhealthyInterval", "healthCheck.jitterPercent"},
	"externalservice.TestACheckKnowsTheRoleByEachOfItsFieldsAtBothVersions": roleFields,
	"externalservice.TestAServiceTurnsHeadlessAndBack":                      {"service.clusterIP"},
	"externalservice.TestASuspendedObjectIsFrozenAndCatchesUpLater":         {"suspend"},
	"externalservice.TestAnOrphanedServiceKeepsServing":                     {"deletionPolicy"},
	"externalservice.TestTheServiceHasTheFieldsOfTheSpecAndNoOthers": {
		"service.annotations", "service.sessionAffinity", "service.sessionAffinityTimeout", "service.ipFamilies", "service.ipFamilyPolicy",
		"service.trafficDistribution", "service.internalTrafficPolicy",
	},
	"externalservice.TestAHeadlessServicePublishesUnhealthyAddressesWhereThatIsWanted": {"service.publishNotReadyAddresses"},
	"externalservice.TestPodsMayConnectToTheAddressesOfTheObjectAlone":                 {"networkPolicy.podSelector", "networkPolicy.dryRun"},
}

// fieldCases show fields that no other test does.
var fieldCases = []struct {
	fields []string
	acts   func(s *suite)
}{
	{[]string{"ports.name", "ports.port", "ports.protocol", "ports.appProtocol", "endpoints.name", "endpoints.ports.name", "endpoints.ports.port", "service.labels"}, publishesFields},
	{[]string{"healthCheck.httpGet.port", "healthCheck.timeout"}, func(s *suite) {
		address := s.Servers.Address()
		s.server(s.Servers.TCP(address + ":7000"))
		slow := s.server(s.Servers.HTTP(address + ":7001"))
		s.set(externalnet.Behavior{Delay: 1500 * time.Millisecond}, slow)
		s.apply("db", `{ports: [{name: p, port: 7000}, {name: admin, port: 7001}], endpoints: [{name: a, addresses: [`+address+`]}],
			healthCheck: {httpGet: {port: admin}, interval: 4s, unhealthyInterval: 1s, timeout: 500ms, failureThreshold: 1}}`)
		s.becomes("db", address, networkingv1.AddressUnhealthy, networkingv1.ProbeTimeout)
		s.change("db", func(es *networkingv1.ExternalService) { es.Spec.HealthCheck.Timeout = ptr.To(common.Duration("4s")) })
		s.healthy("db", address)
		if slow.Counts().Requests == 0 {
			s.Error("the check did not ask at its port")
		}
	}},
	{[]string{"healthCheck.grpc.authority"}, func(s *suite) {
		address := s.Servers.Address()
		server := s.server(s.Servers.GRPC(address + ":7000"))
		s.apply("db", checked(`grpc: {authority: shop.example.org}, `+often, address))
		s.healthy("db", address)
		if got := server.Counts().Latest[0].Host; got != "shop.example.org" {
			s.Errorf("asked %q", got)
		}
	}},
	{[]string{"healthCheck.tcpSocket.port", "healthCheck.grpc.port"}, func(s *suite) {
		address := s.Servers.Address()
		tcp, grpc := s.server(s.Servers.TCP(address+":7000")), s.server(s.Servers.GRPC(address+":7001"))
		const spec = `{ports: [{name: sql, port: 7000}, {name: rpc, port: 7001}], endpoints: [{name: a, addresses: [%s]}], healthCheck: {%s, ` + often + `}}`
		s.apply("named", fmt.Sprintf(spec, address, "tcpSocket: {port: sql}"))
		s.apply("numbered", fmt.Sprintf(spec, address, "grpc: {port: 7001, service: shop}"))
		s.healthy("named", address)
		s.healthy("numbered", address)
		if tcp.Counts().Connections == 0 || grpc.Counts().Requests == 0 {
			s.Errorf("%d connections to one port, %d requests to the other", tcp.Counts().Connections, grpc.Counts().Requests)
		}
	}},
	{[]string{"healthCheck.httpGet.httpHeaders.name", "healthCheck.httpGet.httpHeaders.value"}, func(s *suite) {
		address := s.Servers.Address()
		seen, stop, err := externalnet.Headers(address + ":7000")
		s.Must(err)
		s.Cleanup(stop)
		s.apply("db", checked(`httpGet: {httpHeaders: [{name: X-Tenant, value: shop}]}, `+often, address))
		s.healthy("db", address)
		if got := (<-seen).Get("X-Tenant"); got != "shop" {
			s.Errorf("X-Tenant is %q", got)
		}
	}},
	{[]string{"healthCheck.httpGet.scheme", "healthCheck.tls.insecureSkipVerify"}, func(s *suite) {
		address := s.Servers.Address()
		server := s.server(s.Servers.HTTPS(address+":7000", "another.example.org"))
		s.apply("db", checked(`httpGet: {scheme: HTTPS}, `+often, address))
		s.becomes("db", address, networkingv1.AddressUnhealthy, networkingv1.ProbeCertificateUntrusted)
		s.change("db", func(es *networkingv1.ExternalService) {
			es.Spec.HealthCheck.TLS = &common.CheckTLS{InsecureSkipVerify: ptr.To(true)}
		})
		s.healthy("db", address)
		if server.Counts().Requests == 0 {
			s.Error("no request came by TLS")
		}
	}},
}

// publishesFields wants what is published to be as the spec says.
func publishesFields(s *suite) {
	address, own := s.Servers.Address(), s.Servers.Address()
	s.apply("db", `{service: {labels: {team: db}}, ports: [{name: sql, port: 5432, protocol: TCP, appProtocol: example.com/sql}, {name: stats, port: 8125, protocol: UDP}],
		endpoints: [{name: a, addresses: [`+address+`]}, {name: own, addresses: [`+own+`], ports: [{name: sql, port: 15432}]}]}`)
	st := s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	if len(st.Endpoints) != 2 || st.Endpoints[1].Name != "own" {
		s.Errorf("endpoints of the status: %s", framework.Text(st.Endpoints))
	}
	service := s.service("db")
	if service.Labels["team"] != "db" {
		s.Errorf("the Service has labels %v", service.Labels)
	}
	var ports []string
	for _, p := range service.Spec.Ports {
		ports = append(ports, fmt.Sprint(p.Name, p.Port, p.Protocol, ptr.Deref(p.AppProtocol, "")))
	}
	if want := []string{"sql5432TCPexample.com/sql", "stats8125UDP"}; !slices.Equal(ports, want) {
		s.Errorf("the Service has ports %q, want %q", ports, want)
	}
	found := map[string][]string{}
	for _, slice := range s.Slices("db") {
		for _, endpoint := range slice.Endpoints {
			for _, p := range slice.Ports {
				port := fmt.Sprint(ptr.Deref(p.Name, ""), ptr.Deref(p.Port, 0), ptr.Deref(p.Protocol, corev1.ProtocolTCP), ptr.Deref(p.AppProtocol, ""))
				found[endpoint.Addresses[0]] = append(found[endpoint.Addresses[0]], port)
			}
			slices.Sort(found[endpoint.Addresses[0]])
		}
	}
	for ip, want := range map[string][]string{
		address: {"sql5432TCPexample.com/sql", "stats8125UDP"}, own: {"sql15432TCPexample.com/sql", "stats8125UDP"},
	} {
		if !slices.Equal(found[ip], want) {
			s.Errorf("%s has ports %q in slices, want %q", ip, found[ip], want)
		}
	}
}

func TestEachFieldOfTheSpecActs(t *testing.T) {
	t.Parallel()
	for _, c := range fieldCases {
		t.Run(strings.Join(c.fields, " "), func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.amongMany()
			c.acts(s)
		})
	}
}

func TestEachFieldOfTheSpecHasATest(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, c := range fieldCases {
		fields = append(fields, c.fields...)
	}
	fieldTests.Check(t, "networking.fairlead.dev_externalservices.yaml", networkingv1.GroupVersion.Version, fields...)
}
