// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// issuer is an authority of clients.
type issuer struct {
	root *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func (s *suite) newIssuer() *issuer {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.Must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "webhook clients"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	s.Must(err)
	root, err := x509.ParseCertificate(der)
	s.Must(err)
	return &issuer{root, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// client signs a certificate for a name, in PEM.
func (s *suite) clientOf(i *issuer, name string) (cert, key []byte) {
	s.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.Must(err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, i.root, private.Public(), i.key)
	s.Must(err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	s.Must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// guide is the name by which the guide's API server knows itself.
const guide = "kube-apiserver-webhooks"

// asGuided writes the files of the guide's example into a folder, and returns the one that the API
// server is given. Only their places differ, and the user's name: the port of the local Service is
// not 443, and a user for any port must be named so.
func (s *suite) asGuided(folder string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(framework.Root, "docs", "guides", "hardening.md"))
	s.Must(err)
	written := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n# /etc/kubernetes/admission/(\\S+)\n(.*?)```").FindAllSubmatch(text, -1) {
		content := strings.NewReplacer("/etc/kubernetes/admission", folder, "name: fairlead-webhook.fairlead-system.svc", `name: "*"`).Replace(string(block[2]))
		s.write(filepath.Join(folder, string(block[1])), []byte(content))
		written[string(block[1])] = true
	}
	if len(written) != 2 || !bytes.Contains(text, []byte("names: ["+guide+"]")) {
		s.Fatalf("the guide's example has the files %v", written)
	}
	return filepath.Join(folder, "configuration.yaml")
}

func (s *suite) write(path string, parts ...[]byte) {
	s.Helper()
	s.Must(os.WriteFile(path, bytes.Join(parts, nil), 0o600))
}

// newGuardedSuite opens a cluster whose API server presents a certificate of an authority.
func newGuardedSuite(t *testing.T) (s *suite, authority *issuer) {
	t.Helper()
	s = &suite{framework.Test{T: t}}
	authority = s.newIssuer()
	folder := t.TempDir()
	cert, key := s.clientOf(authority, guide)
	s.write(filepath.Join(folder, "webhook-client.crt"), cert)
	s.write(filepath.Join(folder, "webhook-client.key"), key)
	s.Cluster = tests.OpenFor(t, framework.Options{Cluster: cluster.Options{
		APIServerFlags: []string{"--admission-control-config-file=" + s.asGuided(folder)}, WithoutControllerManager: true,
	}})
	return s, authority
}

// presenting is a caller with a certificate.
func (r *replica) presenting(cert, key []byte) *http.Client {
	r.suite.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	r.suite.Must(err)
	caller := r.caller()
	caller.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	return caller
}

// validate is where no caller without a certificate is answered.
const validate = "/validate-networking-fairlead-dev-v1-externalservice"

// The API server presents its certificate for admission, and has none to present for conversion.
func TestOnlyTheAPIServerIsAnsweredOnAdmissionPaths(t *testing.T) {
	t.Parallel()
	s, authority := newGuardedSuite(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	s.write(file, authority.pem)
	r := s.start("--set=webhook.clients.caFile="+file, "--set=webhook.clients.names="+guide)

	// Each write takes admission, and conversion both ways.
	s.create("default", "one")
	stored, err := s.Dynamic.Resource(oldOnes).Namespace("default").Get(t.Context(), "one", metav1.GetOptions{})
	s.Must(err)
	if stored.GetAPIVersion() != "networking.fairlead.dev/v1alpha1" {
		t.Errorf("read back at %s", stored.GetAPIVersion())
	}

	stranger := s.newIssuer()
	for name, c := range map[string]struct {
		client *http.Client
		path   string
		code   int
		says   string
	}{
		"none":                 {r.caller(), validate, http.StatusForbidden, "WebhookAdmissionConfiguration"},
		"none, for conversion": {r.caller(), "/convert", http.StatusBadRequest, "review"},
		"the right one":        {r.presenting(s.clientOf(authority, guide)), validate, http.StatusBadRequest, "review"},
		"another's name":       {r.presenting(s.clientOf(authority, "ann")), validate, 0, "bad certificate"},
		"another authority's":  {r.presenting(s.clientOf(stranger, guide)), validate, 0, "bad certificate"},
	} {
		got, err := r.send(c.client, c.path, strings.NewReader("{}"))
		if err != nil {
			got.body = err.Error()
		}
		if got.code != c.code || !strings.Contains(strings.ToLower(got.body), strings.ToLower(c.says)) {
			t.Errorf("%s: answered %d %q, want %d %q", name, got.code, got.body, c.code, c.says)
		}
	}

	// Another authority takes the place of the first while everything runs, and then stands beside it.
	s.write(file, stranger.pem)
	s.Eventually(func() error {
		_, err := s.Dynamic.Resource(oldOnes).Namespace("default").Create(t.Context(), old("two"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return fmt.Errorf("the API server is still answered")
		}
		return framework.Holds(err.Error(), "webhook.clients.caFile")
	})
	_, err = s.Dynamic.Resource(oldOnes).Namespace("default").Get(t.Context(), "one", metav1.GetOptions{})
	s.Must(err)
	s.write(file, []byte("-----BEGIN"))
	s.write(file, stranger.pem, authority.pem)
	s.Eventually(func() error {
		_, err := s.Dynamic.Resource(oldOnes).Namespace("default").Create(t.Context(), old("two"), metav1.CreateOptions{})
		return err
	})

	if entries := r.entries("A caller of the webhooks was refused"); len(entries) == 0 || len(entries) > 4 {
		t.Errorf("%d lines of the log tell of refused callers", len(entries))
	}
	if text, err := r.Logs(); err != nil || strings.Contains(text, "PRIVATE KEY") {
		t.Errorf("the log holds a key, or cannot be read: %v", err)
	}
	s.Must(r.Ready(t.Context()))
}
