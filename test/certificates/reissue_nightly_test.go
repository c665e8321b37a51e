// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package certificates

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestCertManagersInjectorMayCarryTheBundle(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, target := range targets {
		s.Kubectl("annotate", target.resource.Resource, target.name, injectFrom+"="+framework.Namespace+"/"+trustSecret)
	}
	replicas := s.start(2, issuing, "--set=webhook.certificates.injectCA=false")
	s.trusted(func() []byte { return s.secret(trustSecret, certs.CAKey) })
	s.underLoad(func() []*framework.Replica { return replicas }, func() {
		s.renew("fairlead-webhook-root", "fairlead-webhook-root")
		s.renew(serving, servingKey)
		for _, r := range replicas {
			s.serves(r, s.issuance)
		}
	})
	if got := authorities(s.secret(trustSecret, certs.CAKey)); got != 2 {
		t.Errorf("%d authorities are trusted after another one was added, want 2", got)
	}
	for _, target := range targets {
		object, err := s.Dynamic.Resource(target.resource).Get(t.Context(), target.name, metav1.GetOptions{})
		s.Must(err)
		if slices.ContainsFunc(object.GetManagedFields(), isInjector) {
			t.Errorf("%s: the operator has written the bundle too", target.name)
		}
	}
}

func TestAMissingCertManagerIsNamedWithItsRemediesAndTheFallbackServesUntilItIsInstalled(t *testing.T) {
	t.Parallel()
	s := newSuiteWithoutCertManager(t)
	s.lacks(s.launch(), "cert-manager is not installed in this cluster", "does not serve cert-manager.io/v1",
		"install cert-manager", "selfSigned", "webhook.certificates.certManager.fallback")
	replicas := s.start(2, issuing, "--set=webhook.certificates.certManager.fallback=true")
	s.trusted(func() []byte { return s.secret("fairlead-webhook-ca", certs.CAKey) })
	s.underLoad(func() []*framework.Replica { return replicas }, func() {
		s.installCertManager()
		for _, r := range replicas {
			s.serves(r, s.issuance)
		}
	})
	s.Must(framework.Eventually(t.Context(), framework.Patience, func(ctx context.Context) error {
		if got := authorities(s.secret(trustSecret, certs.CAKey)); got != 2 {
			return fmt.Errorf("%d authorities are trusted, want the fallback's and cert-manager's", got)
		}
		if s.secret(servingKey, certs.CertKey) == nil {
			return errors.New("nothing was issued")
		}
		return ctx.Err()
	}))
	// From now on it is cert-manager's, also for a replica that starts.
	s.serves(s.start(1, issuing, "--set=webhook.certificates.certManager.fallback=true")[0], s.issuance)
}

func TestTheSourceMayBeChangedByARollingUpdate(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	replicas := s.start(2)
	var mu sync.Mutex // guards replicas, which the load reads
	now := func() []*framework.Replica {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(replicas)
	}
	update := func(args ...string) {
		for range 2 {
			r := s.start(1, args...)[0]
			old := now()[0]
			mu.Lock()
			replicas = append(replicas[1:], r)
			mu.Unlock()
			s.Retire(old)
		}
	}
	s.underLoad(now, func() {
		update(issuing)
		for _, r := range now() {
			s.serves(r, s.issuance)
		}
	})
	s.underLoad(now, func() { update() })
	// And forth long after, when the trust in the operator's own authority is over; and back where that is not there any more.
	s.Kubectl("patch", "secret", trustSecret, "-n", framework.Namespace, "--type=merge", "-p",
		fmt.Sprintf(`{"data": {%q: %q}}`, certs.CAKey, base64.StdEncoding.EncodeToString(s.secret(servingKey, certs.CAKey))))
	update(issuing)
	if got := authorities(s.secret(trustSecret, certs.CAKey)); got != 2 {
		t.Errorf("%d authorities are trusted, want cert-manager's and that of the replicas which were replaced", got)
	}
	s.Kubectl("delete", "secret", "fairlead-webhook-ca", "-n", framework.Namespace)
	update()
	if got := authorities(s.secret("fairlead-webhook-ca", certs.CAKey)); got != 3 {
		t.Errorf("%d authorities are trusted, want the present one, the one that was deleted and cert-manager's", got)
	}
}
