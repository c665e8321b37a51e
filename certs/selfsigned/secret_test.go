// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

func TestASecretThatAUserMustDecideAboutIsRefusedAndKept(t *testing.T) {
	now := time.Now()
	good, _ := rootAt(t, now)
	leaf, err := sign(good, []string{"x"}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, other := rootAt(t, now)
	for title, test := range map[string]struct {
		change func(*corev1.Secret)
		want   string
	}{
		"without our label":    {func(s *corev1.Secret) { s.Labels = nil }, "app.kubernetes.io/managed-by=fairlead.dev"},
		"of another manager":   {func(s *corev1.Secret) { s.Labels[common.ManagedByLabel] = "helm" }, "delete the Secret, or add the label"},
		"key is missing":       {func(s *corev1.Secret) { delete(s.Data, certs.PrivateKey) }, "no tls.key"},
		"key is empty":         {func(s *corev1.Secret) { s.Data[certs.PrivateKey] = nil }, "no tls.key"},
		"certificate missing":  {func(s *corev1.Secret) { delete(s.Data, certs.CertKey) }, "no tls.crt"},
		"key of another":       {func(s *corev1.Secret) { s.Data[certs.PrivateKey] = other.Data[certs.PrivateKey] }, "does not belong"},
		"not an authority":     {func(s *corev1.Secret) { leafInto(t, s, leaf) }, "not a certificate authority"},
		"foreign and unusable": {func(s *corev1.Secret) { s.Labels = nil; s.Data = nil }, "does not carry the label"},
	} {
		t.Run(title, func(t *testing.T) {
			_, secret := rootAt(t, now)
			test.change(secret)
			client := newCluster(t, secret)
			before := stored(t, client).DeepCopy()
			err := newAuthority(t, Options{Client: client}).Prepare(bounded(t))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "secret "+namespace+"/"+name) {
				t.Errorf("error %v, want %q and the Secret's name", err, test.want)
			}
			if diff := cmp.Diff(before, stored(t, client)); diff != "" {
				t.Errorf("the Secret was changed:\n%s", diff)
			}
		})
	}
}

func TestAnUnusableSecretIsReplacedAndTheOldRootStaysTrusted(t *testing.T) {
	now := time.Now()
	for title, test := range map[string]struct {
		made    time.Time
		change  func(*corev1.Secret)
		trusted bool
	}{
		"empty":                     {now, func(s *corev1.Secret) { s.Data = nil }, false},
		"certificate is junk":       {now, func(s *corev1.Secret) { s.Data[certs.CertKey] = []byte("junk") }, true}, // ca.crt has it
		"all is junk":               {now, func(s *corev1.Secret) { junk(s) }, false},
		"key is junk":               {now, func(s *corev1.Secret) { s.Data[certs.PrivateKey] = []byte("junk") }, true},
		"key is junk, no bundle":    {now, func(s *corev1.Secret) { s.Data[certs.PrivateKey] = []byte("j"); delete(s.Data, certs.CAKey) }, true},
		"certificate cut short":     {now, func(s *corev1.Secret) { s.Data[certs.CertKey] = s.Data[certs.CertKey][:200] }, true},
		"expired":                   {now.Add(-11 * 365 * 24 * time.Hour), func(*corev1.Secret) {}, false},
		"a tenth of its life left":  {now.Add(-3400 * 24 * time.Hour), func(*corev1.Secret) {}, true},
		"key in place of a bundle ": {now.Add(-3400 * 24 * time.Hour), func(s *corev1.Secret) { s.Data[certs.CAKey] = s.Data[certs.PrivateKey] }, true},
	} {
		t.Run(title, func(t *testing.T) {
			old, secret := rootAt(t, test.made)
			test.change(secret)
			client := newCluster(t, secret)
			log := &logLines{}
			source := prepared(t, Options{Client: client, Log: log.logger()})
			if got := log.count("replacing the certificate authority"); got != 1 {
				t.Errorf("%d lines about the replacement", got)
			}
			roots, err := pemfile.ParseCertificates(source.CABundle())
			if err != nil {
				t.Fatalf("bundle: %v", err)
			}
			if roots[0].Equal(old.certificate()) {
				t.Error("the old root signs still")
			}
			if got := certs.Contains(roots, old.certificate()); got != test.trusted {
				t.Errorf("old root trusted: %v, want %v", got, test.trusted)
			}
			if !bytes.Equal(stored(t, client).Data[certs.CAKey], source.CABundle()) {
				t.Error("the Secret's bundle is not the published one")
			}
			if err := handshake(t, source, "fairlead-webhook.fairlead-system.svc", source.CABundle()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnAdministratorsBundleIsPublishedWithoutJunkAndWithoutAWrite(t *testing.T) {
	now := time.Now()
	root, secret := rootAt(t, now)
	second, _ := rootAt(t, now)
	leaf, err := sign(root, []string{"x"}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for title, test := range map[string]struct {
		bundle []byte
		want   []byte
	}{
		"another root first": {certs.EncodeCertificates(second.certificate(), root.certificate()), certs.EncodeCertificates(root.certificate(), second.certificate())},
		"missing":            {nil, certs.EncodeCertificates(root.certificate())},
		"junk":               {[]byte("junk"), certs.EncodeCertificates(root.certificate())},
		"a private key":      {secret.Data[certs.PrivateKey], certs.EncodeCertificates(root.certificate())},
		"not an authority":   {certs.EncodeCertificates(leaf.certificate.Leaf), certs.EncodeCertificates(root.certificate())},
	} {
		t.Run(title, func(t *testing.T) {
			changed := secret.DeepCopy()
			changed.Data[certs.CAKey] = test.bundle
			client := newCluster(t, changed)
			source := prepared(t, Options{Client: client})
			if diff := cmp.Diff(string(test.want), string(source.CABundle())); diff != "" {
				t.Errorf("bundle (-want +got):\n%s", diff)
			}
			if got := writes(client); len(got) != 0 {
				t.Errorf("writes: %v", got)
			}
		})
	}
}

func TestErrorsDoNotQuoteWhatTheSecretHolds(t *testing.T) {
	_, secret := rootAt(t, time.Now())
	block, _ := pem.Decode(secret.Data[certs.PrivateKey])
	secret.Data[certs.CertKey], secret.Data[certs.PrivateKey] = secret.Data[certs.PrivateKey], secret.Data[certs.CertKey]
	log := &logLines{}
	client := newCluster(t, secret)
	prepared(t, Options{Client: client, Log: log.logger()})
	text := strings.Join(log.text, "\n")
	encoded := strings.Split(string(pem.EncodeToMemory(block)), "\n")[1]
	if strings.Contains(text, encoded) || strings.Contains(text, "BEGIN") {
		t.Errorf("the log quotes the key:\n%s", text)
	}
}

func leafInto(t *testing.T, secret *corev1.Secret, leaf *leaf) {
	t.Helper()
	secret.Data = dataOf(t, &root{chain: []*x509.Certificate{leaf.certificate.Leaf}, key: leaf.certificate.PrivateKey.(crypto.Signer)})
}

func junk(secret *corev1.Secret) {
	for key := range secret.Data {
		secret.Data[key] = []byte("junk")
	}
}
