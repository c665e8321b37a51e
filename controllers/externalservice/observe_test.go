// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
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
