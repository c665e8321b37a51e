// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
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

// fakeSecrets is a reader of one Secret, or of an error.
type fakeSecrets struct {
	client.Reader
	data  map[string][]byte
	err   error
	reads int
}

func (s *fakeSecrets) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.reads++
	if secret, ok := into.(*corev1.Secret); ok {
		secret.Data = s.data
	}
	return s.err
}

func certificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestASecretIsReadAboutEveryMinuteAndItsLastGoodContentsKept(t *testing.T) {
	now := epoch
	secrets := &fakeSecrets{data: map[string][]byte{caKey: certificate(t)}}
	a := &caBundles{reader: secrets, now: func() time.Time { return now }}
	of := func() caBundle {
		return a.get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "ca"})
	}
	first := of()
	if first.problem != "" || len(first.roots) == 0 || first.due.Sub(now) < caMaxAge || first.due.Sub(now) > caMaxAge*6/5 {
		t.Fatalf("got %+v", first)
	}
	now = now.Add(caMaxAge - time.Second)
	if of(); secrets.reads != 1 {
		t.Errorf("%d reads within a minute", secrets.reads)
	}
	now = now.Add(time.Minute)
	secrets.err = errors.New("the API server is busy")
	if got := of(); secrets.reads != 2 || got.problem != "" || len(got.roots) == 0 {
		t.Errorf("after %d reads: %+v", secrets.reads, got)
	}
	now = now.Add(time.Minute)
	secrets.err = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	if got := of(); got.problem != "" || len(got.roots) == 0 {
		t.Errorf("an absence of something else: %+v", got)
	}
	for _, once := range []error{apierrors.NewNotFound(corev1.Resource("secrets"), "ca"), apierrors.NewForbidden(corev1.Resource("secrets"), "ca", nil)} {
		for _, err := range []error{once, nil} {
			now = now.Add(2 * time.Minute)
			secrets.err = err
			if got := of(); got.problem != "" || len(got.roots) == 0 {
				t.Errorf("after %v once, and then %v: %+v", once, err, got)
			}
		}
	}
	now = now.Add(2 * time.Minute)
	secrets.err = apierrors.NewNotFound(corev1.Resource("secrets"), "ca")
	if got := of(); got.problem != "" || got.due.Sub(now) > caRetry*6/5 {
		t.Errorf("a Secret that one read does not find: %+v", got)
	}
	now = now.Add(2 * caRetry)
	if got := of(); !strings.Contains(got.problem, "does not exist") || got.roots != nil {
		t.Errorf("a Secret that is gone: %+v", got)
	}
}

func TestFaultsOfASecretSayWhatToDoAndQuoteNothing(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		err  error
		want string
	}{
		"missing":   {nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "ca"), "does not exist"},
		"forbidden": {nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "ca", nil), "grant the operator's service account get"},
		"failing":   {nil, errors.New("hidden detail"), "cannot be read"},
		"empty":     {nil, nil, "has no ca.crt"},
		"garbage":   {[]byte("hidden detail"), nil, "without a certificate"},
		"huge":      {make([]byte, maxBundleSize+1), nil, "more than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &caBundles{reader: &fakeSecrets{data: map[string][]byte{caKey: c.data}, err: c.err}, now: func() time.Time { return epoch }}
			got := a.get(t.Context(), types.NamespacedName{Name: "ca"})
			if !strings.Contains(got.problem, c.want) || strings.Contains(got.problem, "hidden") || got.roots != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAuthoritiesAreBounded(t *testing.T) {
	now := epoch
	a := &caBundles{reader: &fakeSecrets{err: errors.New("any")}, now: func() time.Time { return now }}
	for i := range maxBundles + 100 {
		a.get(t.Context(), types.NamespacedName{Name: fmt.Sprint(i)})
	}
	if len(a.bundles) > maxBundles {
		t.Errorf("%d are kept", len(a.bundles))
	}
	now = now.Add(time.Hour)
	a.get(t.Context(), types.NamespacedName{Name: "last"})
	if len(a.bundles) != 1 {
		t.Errorf("%d are kept that no probe uses", len(a.bundles)-1)
	}
}

func TestWithoutItsCertificatesNothingIsCheckedAndNothingMoves(t *testing.T) {
	const secure = `{ports: [{name: sql, port: 5432}], healthCheck: {http: {}, tls: {caSecretName: roots}}, endpoints: [{name: a, addresses: [192.0.2.1]}, {name: b, priority: 1, addresses: [198.51.100.1]}]}`
	s := newSuite(t, secure)
	secrets := &fakeSecrets{data: map[string][]byte{caKey: certificate(t)}}
	s.caBundles.reader = secrets
	if again := s.reconcileOnce(); again.RequeueAfter == 0 {
		t.Error("the Secret is not read again")
	}
	if string(s.health.check.TLS.RootPEM) != string(secrets.data[caKey]) {
		t.Error("the check trusts other certificates")
	}
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")

	secrets.data = nil
	s.advance(2 * time.Minute)
	s.reconcileOnce()
	s.wantCondition("Healthy", "Unknown CAUnavailable")
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
	secrets.data = map[string][]byte{caKey: certificate(t)}
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
