// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package certificates

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// renew has cert-manager issue a Certificate again, in the way of `cmctl renew`, and waits until its
// Secret holds another one.
func (s *suite) renew(certificate, secret string) {
	s.Helper()
	before := s.secret(secret, certs.CertKey)
	client := s.Dynamic.Resource(certificates).Namespace(framework.Namespace)
	s.Eventually(func() error { // another writer of the status may win
		object, err := client.Get(s.Context(), certificate, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		if err != nil {
			return err
		}
		conditions = append(conditions, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "a test asks for it",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": object.GetGeneration(),
		})
		if err := unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions"); err != nil {
			return err
		}
		_, err = client.UpdateStatus(s.Context(), object, metav1.UpdateOptions{})
		return err
	})
	s.Eventually(func() error {
		if bytes.Equal(s.secret(secret, certs.CertKey), before) {
			return fmt.Errorf("certificate %s has not been issued again", certificate)
		}
		return nil
	})
}

// generations count the writes to each target. One to a CRD makes the API server convert all
// its objects again.
func (s *suite) generations() []int64 {
	s.Helper()
	var all []int64
	for _, t := range targets {
		object, err := s.Dynamic.Resource(t.resource).Get(s.Context(), t.name, metav1.GetOptions{})
		s.Must(err)
		all = append(all, object.GetGeneration())
	}
	return all
}

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

// It has three replicas, all under load, and a processor for itself.
func TestAReissueUnderANewAuthorityFailsNoRequest(t *testing.T) {
	s := newSuite(t)
	replicas := s.start(3, issuing)
	oldRoot := s.secret(servingKey, certs.CAKey)
	generations := s.generations()
	old := s.serves(replicas[0], s.issuance)
	s.underLoad(func() []*framework.Replica { return replicas }, func() {
		s.renew("fairlead-webhook-root", "fairlead-webhook-root")
		s.renew(serving, servingKey)
		if bytes.Equal(s.secret(servingKey, certs.CAKey), oldRoot) {
			t.Fatal("the certificate was issued under the same authority: nothing is tested")
		}
		for _, r := range replicas {
			if leaf := s.serves(r, s.issuance); leaf.Equal(old) {
				t.Errorf("%s serves the old certificate", r.ID)
			}
		}
	})
	// The old one stays trusted: a replica may serve under it until it expires.
	s.trusted(func() []byte { return append(bytes.Clone(oldRoot), s.secret(servingKey, certs.CAKey)...) })

	once := s.generations()
	for i := range once {
		if once[i] != generations[i]+1 {
			t.Errorf("%s: generation %d, then %d: want one write", targets[i].name, generations[i], once[i])
		}
	}
	s.underLoad(func() []*framework.Replica { return replicas[:1] }, func() {
		// A replica that starts now has never seen the old certificate, and publishes the same bytes.
		s.Retire(replicas[2])
		s.start(1, issuing)
		s.renew(serving, servingKey)
		s.serves(replicas[0], s.issuance)
	})
	if after := s.generations(); !slices.Equal(after, once) {
		t.Errorf("a restart and a renewal under the same authority wrote the CRDs: generations %d, then %d", once, after)
	}
}
