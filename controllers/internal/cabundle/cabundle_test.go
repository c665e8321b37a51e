// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
	now := time.Unix(1e9, 0)
	secrets := &fakeSecrets{data: map[string][]byte{key: certificate(t)}}
	a := &Bundles{reader: secrets, now: func() time.Time { return now }}
	of := func() Bundle {
		return a.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "ca"})
	}
	first := of()
	if first.Problem != "" || len(first.Roots) == 0 || first.Due.Sub(now) < maxAge || first.Due.Sub(now) > maxAge*6/5 {
		t.Fatalf("got %+v", first)
	}
	now = now.Add(maxAge - time.Second)
	if of(); secrets.reads != 1 {
		t.Errorf("%d reads within a minute", secrets.reads)
	}
	now = now.Add(time.Minute)
	secrets.err = errors.New("the API server is busy")
	if got := of(); secrets.reads != 2 || got.Problem != "" || len(got.Roots) == 0 {
		t.Errorf("after %d reads: %+v", secrets.reads, got)
	}
	now = now.Add(time.Minute)
	secrets.err = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	if got := of(); got.Problem != "" || len(got.Roots) == 0 {
		t.Errorf("an absence of something else: %+v", got)
	}
	for _, once := range []error{apierrors.NewNotFound(corev1.Resource("secrets"), "ca"), apierrors.NewForbidden(corev1.Resource("secrets"), "ca", nil)} {
		for _, err := range []error{once, nil} {
			now = now.Add(2 * time.Minute)
			secrets.err = err
			if got := of(); got.Problem != "" || len(got.Roots) == 0 {
				t.Errorf("after %v once, and then %v: %+v", once, err, got)
			}
		}
	}
	now = now.Add(2 * time.Minute)
	secrets.err = apierrors.NewNotFound(corev1.Resource("secrets"), "ca")
	if got := of(); got.Problem != "" || got.Due.Sub(now) > retry*6/5 {
		t.Errorf("a Secret that one read does not find: %+v", got)
	}
	now = now.Add(2 * retry)
	if got := of(); !strings.Contains(got.Problem, "does not exist") || got.Roots != nil {
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
			a := &Bundles{reader: &fakeSecrets{data: map[string][]byte{key: c.data}, err: c.err}, now: func() time.Time { return time.Unix(1e9, 0) }}
			got := a.Get(t.Context(), types.NamespacedName{Name: "ca"})
			if !strings.Contains(got.Problem, c.want) || strings.Contains(got.Problem, "hidden") || got.Roots != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAuthoritiesAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := &Bundles{reader: &fakeSecrets{err: errors.New("any")}, now: func() time.Time { return now }}
	for i := range maxBundles + 100 {
		a.Get(t.Context(), types.NamespacedName{Name: fmt.Sprint(i)})
	}
	if len(a.bundles) > maxBundles {
		t.Errorf("%d are kept", len(a.bundles))
	}
	now = now.Add(time.Hour)
	a.Get(t.Context(), types.NamespacedName{Name: "last"})
	if len(a.bundles) != 1 {
		t.Errorf("%d are kept that no probe uses", len(a.bundles)-1)
	}
}
