// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
