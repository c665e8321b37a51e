// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets/checksecretstest"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

func TestASuspicionIsInheritedUntilSomethingIsChecked(t *testing.T) {
	checked := probe.Health{State: networkingv1.AddressHealthy, LastProbe: epoch}
	for name, test := range map[string]struct {
		reason string
		health []probe.Health
		want   bool
	}{
		"suspected, nothing checked":        {networkingv1.ReasonProbesInconclusive, []probe.Health{{}, {}}, true},
		"suspected, one checked":            {networkingv1.ReasonProbesInconclusive, []probe.Health{{}, checked}, false},
		"suspected, and no address":         {networkingv1.ReasonProbesInconclusive, nil, true},
		"something else, nothing checked":   {networkingv1.ReasonUnknown, []probe.Health{{}}, false},
		"no condition yet, nothing checked": {"", []probe.Health{{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			es := &networkingv1.ExternalService{}
			if test.reason != "" {
				es.Status.Conditions = []metav1.Condition{{Type: networkingv1.ConditionHealthy, Reason: test.reason}}
			}
			one := endpoints.Endpoint{}
			for _, health := range test.health {
				one.Addresses = append(one.Addresses, endpoints.Address{Health: health})
			}
			if got := inheritsSuspicion(es, []endpoints.Endpoint{one}); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

func TestWithoutItsCertificatesNothingIsCheckedAndNothingMoves(t *testing.T) {
	const secure = `{ports: [{name: sql, port: 5432}], healthCheck: {httpGet: {}, tls: {caSecretName: roots}}, endpoints: [{name: a, addresses: [192.0.2.1]}, {name: b, priority: 1, addresses: [198.51.100.1]}]}`
	s := newSuite(t, secure)
	secrets := &checksecretstest.Secrets{Data: map[string][]byte{"ca.crt": checksecretstest.NewCertificate(t)}}
	s.secrets = checksecrets.New(secrets, s.Now)
	if again := s.reconcileOnce(); again.RequeueAfter == 0 {
		t.Error("the Secret is not read again")
	}
	if string(s.health.check.RootPEM) != string(secrets.Data["ca.crt"]) {
		t.Error("the check trusts other certificates")
	}
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")

	secrets.Data = nil
	s.advance(2 * time.Minute)
	s.reconcileOnce()
	s.wantCondition("Healthy", "Unknown SecretUnavailable")
	s.wantCondition("Ready", "True Published")
	s.wantPublished("192.0.2.1+")
	if s.health.targets != nil {
		t.Error("addresses are checked without the certificates to check them by")
	}
	s.advance(time.Minute)
	s.reconcileUnchanged("still no certificates")

	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = append(es.Spec.Endpoints[0].Addresses, "192.0.2.9")
	})
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.9")
	secrets.Data = map[string][]byte{"ca.crt": checksecretstest.NewCertificate(t)}
	s.advance(time.Minute)
	s.reconcileUnchanged("the first check of an address")
	s.advance(firstProbeHold)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.9")
	s.wantCondition("Healthy", "False Degraded")
	s.health.setHealth("a", "192.0.2.9", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.9+")
	s.wantCondition("Healthy", "True AllHealthy")
}

const authenticated = `{ports: [{name: redis, port: 6379}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {tcpSocket: {steps: [{sendFrom: {prefix: "AUTH ", secretKeyRef: {name: login, key: password}}, expect: OK}]}}}`

func TestARotatedCredentialIsReadOnceAFirstCheckFails(t *testing.T) {
	s := newSuite(t, authenticated)
	secrets := &checksecretstest.Secrets{Data: map[string][]byte{"password": []byte("first")}}
	s.secrets = checksecrets.New(secrets, s.Now)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.advance(10 * time.Second)
	secrets.Data = map[string][]byte{"password": []byte("second")}
	reads := secrets.Reads
	s.reconcileOnce()
	if secrets.Reads != reads {
		t.Error("the Secret is read although no check has failed")
	}
	s.health.known["192.0.2.1"] = probe.Health{State: networkingv1.AddressHealthy, Reason: networkingv1.ProbeUnexpectedResponse, LastProbe: s.Now()}
	s.reconcileOnce()
	if got := s.health.check.Values; len(got) != 1 || string(got[0].Reveal()) != "second" {
		t.Errorf("the check presents %d values, not the rotated one", len(got))
	}
	s.wantPublished("192.0.2.1+")
}

func TestWhereAdmissionAsksNobodyNoCredentialIsRead(t *testing.T) {
	s := newSuite(t, authenticated)
	secrets := &checksecretstest.Secrets{Data: map[string][]byte{"password": []byte("first")}}
	s.secrets, s.WebhookExemptNamespaces = checksecrets.New(secrets, s.Now), []string{objectKey.Namespace}
	s.reconcileOnce()
	if secrets.Reads > 0 || s.health.targets != nil {
		t.Errorf("%d reads", secrets.Reads)
	}
	s.wantCondition("Healthy", "Unknown SecretUnavailable")
}

func TestAPortThatIsNotPublishedIsCheckedAndJudgedByThePolicy(t *testing.T) {
	const patroni = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1], ports: [{name: sql, port: 6432}]}], healthCheck: {httpGet: {port: 8008, path: /primary}}}`
	s := newSuite(t, patroni)
	s.reconcileOnce()
	if len(s.health.targets) != 1 || s.health.targets[0].Port != 8008 {
		t.Fatalf("targets %+v", s.health.targets)
	}
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	var es networkingv1.ExternalService
	s.must(s.store.Get(t.Context(), objectKey, &es))
	set := endpoints.PortSetOf(&es.Spec, es.Spec.Endpoints[0].Ports, 0)
	if len(set.Ports) != 1 || *set.Ports[0].Port != 6432 || !slices.Equal(set.Numbers, []uint16{6432, 8008}) {
		t.Errorf("published %v, judged %v", set.Ports, set.Numbers)
	}
	if set.Digest != endpoints.PortSetOf(&networkingv1.ExternalServiceSpec{Ports: es.Spec.Ports}, es.Spec.Endpoints[0].Ports, 0).Digest {
		t.Error("the check names the slices")
	}
}

func TestThePriorityThatIsPublishedIsInUse(t *testing.T) {
	s := newHealthySuite(t, tiered, both)
	inUse := func() (all []string) {
		for _, target := range s.health.targets {
			if target.InUse {
				all = append(all, target.IP.String())
			}
		}
		return all
	}
	s.reconcileOnce() // its slices have come
	if got := inUse(); !slices.Equal(got, []string{"192.0.2.1"}) {
		t.Errorf("in use are %v", got)
	}
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("198.51.100.1+")
	s.restart() // another process knows the priority by slices and status
	s.reconcileOnce()
	if got := inUse(); !slices.Equal(got, []string{"198.51.100.1"}) {
		t.Errorf("after a failover, in use are %v", got)
	}
}
