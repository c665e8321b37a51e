// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package certificates

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestACertificateOfAnotherOwnerIsUsedAsItIsAndRenewed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.Apply(fmt.Sprintf(theirs, "'*.fairlead-system.svc'"), "--server-side")
	replicas := s.start(2, issuing)
	first := s.serves(replicas[0], s.issuance)
	s.underLoad(func() []*framework.Replica { return replicas }, func() {
		for renewals, last := 0, first; renewals < 2; renewals++ {
			s.Eventually(func() error {
				leaf, err := framework.Presented(s.Context(), replicas[0].Webhook, nil)
				if err == nil && leaf.Equal(last) {
					err = fmt.Errorf("the certificate %x is served still", leaf.SerialNumber)
				}
				if err == nil {
					last = leaf
				}
				return err
			})
		}
		for _, r := range replicas {
			s.serves(r, s.issuance)
		}
	})
	if got := authorities(s.secret(trustSecret, certs.CAKey)); got != 1 {
		t.Errorf("%d authorities are trusted, want the one", got)
	}

	standing, err := s.Dynamic.Resource(certificates).Namespace(framework.Namespace).Get(t.Context(), serving, metav1.GetOptions{})
	s.Must(err)
	if standing.GetGeneration() != 1 {
		t.Errorf("the Certificate was changed: generation %d", standing.GetGeneration())
	}
	for _, entry := range standing.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "fairlead") {
			t.Errorf("%s owns fields of the Certificate", entry.Manager)
		}
	}
	for _, own := range []string{"issuer/fairlead-webhook", "issuer/fairlead-webhook-bootstrap", "certificate/fairlead-webhook-root"} {
		if out, err := s.Cluster.Kubectl(t.Context(), "get", own, "-n", framework.Namespace); err == nil {
			t.Errorf("the operator has made an authority that is not needed:\n%s", out)
		}
	}
}
