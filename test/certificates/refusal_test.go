// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// soon has the start give up early.
const soon = "--kube-api-start-timeout=16s"

func (s *suite) launch(args ...string) *framework.Replica {
	s.Helper()
	r, err := s.Launch(s.Context(), append([]string{issuing, soon}, args...)...)
	s.Must(err)
	return r
}

func TestAMissingCertManagerIsNamedWithItsRemedies(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.lacks(s.launch(), "cert-manager is not installed in this cluster", "does not serve cert-manager.io/v1",
		"install cert-manager", "selfSigned", "--cert-manager-fallback")
}

func TestWhatKeepsACertificateFromBeingIssuedIsTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.installCertManager()
	t.Run("an issuer that is not there", func(t *testing.T) {
		s := s.in(t)
		s.lacks(s.launch("--cert-manager-issuer=absent", "--cert-manager-certificate=fairlead-webhook"),
			"certificate fairlead-system/fairlead-webhook: is not ready", "absent")
		s.Must(s.Dynamic.Resource(certificates).Namespace(framework.Namespace).Delete(t.Context(), serving, metav1.DeleteOptions{}))
	})
	t.Run("a validity that cert-manager does not take", func(t *testing.T) {
		s := s.in(t)
		s.fails(s.launch("--webhook-certificates-validity=10m"), "webhook.certificates.validity is 10m0s", "cert-manager takes 1h0m0s at least")
	})
	t.Run("a Certificate of another owner without the name", func(t *testing.T) {
		s := s.in(t)
		s.Apply(fmt.Sprintf(theirs, "somewhere.example.com"), "--server-side")
		s.lacks(s.launch(), "certificate fairlead-system/fairlead-webhook: refused", `spec.dnsNames lacks "`+framework.ServerName+`"`, "add it")
	})
	t.Run("a Certificate of another owner that fills another Secret", func(t *testing.T) {
		s := s.in(t)
		s.Apply(fmt.Sprintf(theirs, framework.ServerName), "--server-side")
		s.Kubectl("patch", "certificate", serving, "-n", framework.Namespace, "--type=merge", "-p", `{"spec":{"secretName":"elsewhere"}}`)
		s.lacks(s.launch(), `spec.secretName is "elsewhere", and the operator reads "fairlead-webhook-tls"`, "--cert-manager-secret")
	})
}

func TestACertificateThatIsThereIsServedAlthoughCertManagerIsAway(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.installCertManager()
	s.Retire(s.start(1, issuing)[0])
	s.Component("cert-manager").Stop()
	s.serves(s.start(1, issuing)[0], s.issuance)
}
