// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/internal/cabundle/cabundletest"
)

func TestASecretIsReadAboutEveryMinuteAndItsLastGoodContentsKept(t *testing.T) {
	now := time.Unix(1e9, 0)
	secrets := &cabundletest.Secrets{Data: map[string][]byte{key: cabundletest.NewCertificate(t)}}
	a := &Bundles{reader: secrets, now: func() time.Time { return now }}
	of := func() Bundle {
		return a.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "ca"})
	}
	first := of()
	if first.Problem != "" || len(first.Roots) == 0 || first.Due.Sub(now) < maxAge || first.Due.Sub(now) > maxAge*6/5 {
		t.Fatalf("got %+v", first)
	}
	now = now.Add(maxAge - time.Second)
	if of(); secrets.Reads != 1 {
		t.Errorf("%d reads within a minute", secrets.Reads)
	}
	now = now.Add(time.Minute)
	secrets.Err = errors.New("the API server is busy")
	if got := of(); secrets.Reads != 2 || got.Problem != "" || len(got.Roots) == 0 {
		t.Errorf("after %d reads: %+v", secrets.Reads, got)
	}
	now = now.Add(time.Minute)
	secrets.Err = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	if got := of(); got.Problem != "" || len(got.Roots) == 0 {
		t.Errorf("an absence of something else: %+v", got)
	}
	for _, once := range []error{apierrors.NewNotFound(corev1.Resource("secrets"), "ca"), apierrors.NewForbidden(corev1.Resource("secrets"), "ca", nil)} {
		for _, err := range []error{once, nil} {
			now = now.Add(2 * time.Minute)
			secrets.Err = err
			if got := of(); got.Problem != "" || len(got.Roots) == 0 {
				t.Errorf("after %v once, and then %v: %+v", once, err, got)
			}
		}
	}
	now = now.Add(2 * time.Minute)
	secrets.Err = apierrors.NewNotFound(corev1.Resource("secrets"), "ca")
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
			a := &Bundles{reader: &cabundletest.Secrets{Data: map[string][]byte{key: c.data}, Err: c.err}, now: func() time.Time { return time.Unix(1e9, 0) }}
			got := a.Get(t.Context(), types.NamespacedName{Name: "ca"})
			if !strings.Contains(got.Problem, c.want) || strings.Contains(got.Problem, "hidden") || got.Roots != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAuthoritiesAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := &Bundles{reader: &cabundletest.Secrets{Err: errors.New("any")}, now: func() time.Time { return now }}
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
