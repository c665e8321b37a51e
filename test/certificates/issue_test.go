// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestACertificateIsIssuedFromNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, r := range s.start(2, issuing, "--set=webhook.certificates.dnsNames=webhooks.example.com,192.0.2.7") {
		leaf := s.serves(r, s.issuance)
		for _, name := range []string{framework.ServerName, framework.ServerName + ".cluster.local", "webhooks.example.com", "192.0.2.7"} {
			s.Must(leaf.VerifyHostname(name))
		}
		if _, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok {
			t.Errorf("the key is a %T", leaf.PublicKey)
		}
	}
	s.trusted(func() []byte { return s.secret(servingKey, certs.CAKey) })

	made := s.Kubectl("get", "issuers,certificates", "-n", framework.Namespace, "-l", "app.kubernetes.io/managed-by=fairlead.dev", "-o", "name")
	for _, want := range []string{
		"issuer.cert-manager.io/fairlead-webhook\n", "issuer.cert-manager.io/fairlead-webhook-bootstrap\n",
		"certificate.cert-manager.io/fairlead-webhook\n", "certificate.cert-manager.io/fairlead-webhook-root\n",
	} {
		if !strings.Contains(made, want) {
			t.Errorf("%q was not made:\n%s", want, made)
		}
	}
	if _, err := s.Kube.CoreV1().Secrets(framework.Namespace).Get(t.Context(), "fairlead-webhook-ca", metav1.GetOptions{}); err == nil {
		t.Error("the operator has made an authority of its own as well")
	}
}

// theirs is an authority of another owner, and a Certificate that lives for seconds.
const theirs = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: their-bootstrap, namespace: fairlead-system}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: their-root, namespace: fairlead-system}
spec:
  isCA: true
  commonName: their-root
  secretName: their-root
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: their-bootstrap, kind: Issuer, group: cert-manager.io}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: theirs, namespace: fairlead-system}
spec: {ca: {secretName: their-root}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: fairlead-webhook, namespace: fairlead-system}
spec:
  secretName: fairlead-webhook-tls
  dnsNames: [%s]
  duration: 40s
  renewBefore: 20s
  privateKey: {algorithm: RSA, size: 2048}
  issuerRef: {name: theirs, kind: Issuer, group: cert-manager.io}
`
