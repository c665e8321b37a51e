// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitored "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// metricsAuthority signs certificates of the metrics endpoint, as cert-manager would.
type metricsAuthority struct {
	s      *suite
	folder string
	key    *ecdsa.PrivateKey
	ca     *x509.Certificate
	serial int64
}

func (s *suite) newMetricsAuthority() *metricsAuthority {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.Must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Fairlead metrics"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	s.Must(err)
	ca, err := x509.ParseCertificate(raw)
	s.Must(err)
	a := &metricsAuthority{s: s, folder: s.TempDir(), key: key, ca: ca, serial: 1}
	a.sign()
	return a
}

// sign writes another certificate into the folder.
func (a *metricsAuthority) sign() {
	a.s.Helper()
	a.serial++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.s.Must(err)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), DNSNames: []string{"metrics.fairlead.dev"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.ca, key.Public(), a.key)
	a.s.Must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	a.s.Must(err)
	for name, block := range map[string]*pem.Block{"tls.key": {Type: "PRIVATE KEY", Bytes: private}, "tls.crt": {Type: "CERTIFICATE", Bytes: raw}} {
		a.s.Must(os.WriteFile(filepath.Join(a.folder, name), pem.EncodeToMemory(block), 0o600))
	}
}

// scrape reads the metrics as the monitors of config/prometheus do, and returns the serial number of the certificate.
func (a *metricsAuthority) scrape(r *replica, token string) (int64, string, error) {
	pool := x509.NewCertPool()
	pool.AddCert(a.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "metrics.fairlead.dev"}, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(a.s.Context(), http.MethodGet, r.Metrics+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Timeout: framework.Patience, Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, page)
	}
	return response.TLS.PeerCertificates[0].SerialNumber.Int64(), string(page), err
}

func TestAMonitorReadsMetricsByItsTokenAndVerifiesTheEndpoint(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, name := range []string{"service_account", "role_binding", "token"} {
		s.Kubectl("apply", "-f", filepath.Join(framework.Root, "config", "prometheus", "reader", name+".yaml"))
	}
	var token []byte
	s.Eventually(func() error {
		text := s.Kubectl("get", "secret", "fairlead-metrics-reader", "-n", framework.Namespace, "-o", "jsonpath={.data.token}")
		var err error
		if token, err = base64.StdEncoding.DecodeString(text); err == nil && len(token) == 0 {
			err = fmt.Errorf("the Secret has no token yet")
		}
		return err
	})
	authority := s.newMetricsAuthority()
	r := s.start("--set=metrics.certDir=" + authority.folder)
	r.reconciles()
	namespace := s.NewNamespace()
	s.create(namespace, "db")
	s.reconciled(namespace, "db")
	var serial int64
	var page string
	s.Eventually(func() (err error) {
		serial, page, err = authority.scrape(r, string(token))
		return err
	})
	if serial != authority.serial {
		t.Errorf("serves the certificate %d, not %d", serial, authority.serial)
	}
	if code := s.Kubectl("auth", "can-i", "--list", "--as=system:serviceaccount:"+framework.Namespace+":fairlead-metrics-reader"); strings.Contains(code, "secrets") {
		t.Errorf("the token can do more than read metrics:\n%s", code)
	}
	if _, _, err := authority.scrape(r, "forged"); err == nil {
		t.Error("answers a forged token")
	}
	authority.sign()
	s.Eventually(func() error {
		serial, _, err := authority.scrape(r, string(token))
		if err == nil && serial != authority.serial {
			err = fmt.Errorf("serves the certificate %d, not %d", serial, authority.serial)
		}
		return err
	})
	checkLabels(t, page)
}

// checkLabels compares the labels of what was scraped with docs/reference/metrics.md.
func checkLabels(t *testing.T, page string) {
	t.Helper()
	reference, err := os.ReadFile(filepath.Join(framework.Root, "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(fairlead_[a-z_]+)` \\| ([^|]*)\\|").FindAllStringSubmatch(string(reference), -1) {
		// `reason`: `a`, `b` has values after the colon.
		labels := regexp.MustCompile("`([a-z_]+)`(?:, |: |; | *$)").FindAllStringSubmatch(regexp.MustCompile(": `[^;]*").ReplaceAllString(row[2], ""), -1)
		documented[row[1]] = []string{}
		for _, label := range labels {
			documented[row[1]] = append(documented[row[1]], label[1])
		}
		slices.Sort(documented[row[1]])
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !strings.HasPrefix(name, "fairlead_") {
			continue
		}
		compared++
		for _, series := range families[name].GetMetric() {
			if labels := labelsOf(series); !slices.Equal(labels, documented[name]) {
				t.Errorf("%s has the labels %v, and the reference says %v", name, labels, documented[name])
				break
			}
		}
	}
	if compared < 25 {
		t.Errorf("compared %d metrics", compared)
	}
}

func labelsOf(series *monitored.Metric) []string {
	names := []string{}
	for _, pair := range series.GetLabel() {
		names = append(names, pair.GetName())
	}
	slices.Sort(names)
	return names
}
