// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// soon has the start give up early.
const soon = "--set=clientConnection.startTimeout=16s"

func (s *suite) launch(args ...string) *framework.Replica {
	s.Helper()
	r, err := s.Launch(s.Context(), append([]string{issuing, soon}, args...)...)
	s.Must(err)
	s.Cleanup(r.Stop)
	return r
}

func TestWhatKeepsACertificateFromBeingIssuedIsTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	t.Run("an issuer that is not there", func(t *testing.T) {
		s := s.in(t)
		s.lacks(s.launch("--set=webhook.certificates.certManager.issuerName=absent", "--set=webhook.certificates.certManager.certificate=fairlead-webhook"),
			"certificate fairlead-system/fairlead-webhook: is not ready", "absent")
		s.Must(s.Dynamic.Resource(certificates).Namespace(framework.Namespace).Delete(t.Context(), serving, metav1.DeleteOptions{}))
	})
	t.Run("a validity that cert-manager does not take", func(t *testing.T) {
		s := s.in(t)
		s.fails(s.launch("--set=webhook.certificates.validity=10m"), "webhook.certificates.validity is 10m", "cert-manager takes 1h at least")
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
		s.lacks(s.launch(), `spec.secretName is "elsewhere", but the operator reads "fairlead-webhook-tls"`, "webhook.certificates.certManager.secretName")
	})
}

func TestACertificateThatIsThereIsServedAlthoughCertManagerIsAway(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.Retire(s.start(1, issuing)[0])
	s.Component(certManager).Stop()
	r := s.start(1, issuing)[0]
	s.serves(r, s.issuance)

	// Nothing repairs the Secret now.
	s.keepsLastGood(r, servingKey)
	s.Retire(r)
	s.keepsLastGood(s.start(1)[0], rootSecret)
}

// keepsLastGood exchanges the private key of the Secret that the replica reads, and puts it back.
func (s *suite) keepsLastGood(r *framework.Replica, name string) {
	s.Helper()
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: framework.Namespace, Name: name}
	s.Must(s.Client.Get(s.Context(), key, &secret))
	good := secret.Data[corev1.TLSPrivateKeyKey]
	put := func(key []byte) {
		patch, err := json.Marshal(map[string]any{"data": map[string][]byte{corev1.TLSPrivateKeyKey: key}})
		s.Must(err)
		s.Must(s.Client.Patch(s.Context(), &secret, client.RawPatch(types.MergePatchType, patch)))
	}
	told := func() string {
		s.Helper()
		ready, err := r.Probe(s.Context(), "/readyz")
		s.Must(err)
		return ready
	}
	s.Kubectl("delete", "events", "-n", framework.Namespace, "--field-selector=reason=CertificateNotUsed") // one in ten minutes is written
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.Must(err)
	der, err := x509.MarshalPKCS8PrivateKey(other)
	s.Must(err)
	put(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	s.Eventually(func() error { return framework.Holds(told(), "degraded", corev1.TLSPrivateKeyKey) })
	s.Eventually(func() error {
		events := s.Kubectl("get", "events", "-n", framework.Namespace, "--field-selector=reason=CertificateNotUsed", "-o=jsonpath={.items[*].message}")
		return framework.Holds(events, r.ID, corev1.TLSPrivateKeyKey)
	})
	s.Must(s.Reachable(s.Context()))
	put(good)
	s.Eventually(func() error {
		if now := told(); strings.Contains(now, "degraded") {
			return errors.New(now)
		}
		return nil
	})
}
