// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"sigs.k8s.io/yaml"
)

// test/monitoring has the tests of monitors, alerts and the dashboard.
func TestCertManagerMakesTheCertificateThatMonitorsVerify(t *testing.T) {
	secrets, issuers := map[string]certmanagerv1.CertificateSpec{}, map[string]bool{}
	for _, path := range []string{"prometheus/certificate/authority.yaml", "prometheus/certificate/certificate.yaml"} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(content, []byte("---\n")) {
			if bytes.Contains(document, []byte("kind: Issuer\n")) {
				var issuer certmanagerv1.Issuer
				if err := yaml.UnmarshalStrict(document, &issuer); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				issuers[issuer.Name] = issuer.Spec.CA == nil || secrets[issuer.Spec.CA.SecretName].IsCA
				continue
			}
			var certificate certmanagerv1.Certificate
			if err := yaml.UnmarshalStrict(document, &certificate); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if !issuers[certificate.Spec.IssuerRef.Name] {
				t.Errorf("%s: no issuer %s before it, or one without an authority", certificate.Name, certificate.Spec.IssuerRef.Name)
			}
			secrets[certificate.Spec.SecretName] = certificate.Spec
		}
	}
	for _, path := range []string{"prometheus/service_monitor.yaml", "prometheus/pod-monitor/pod_monitor.yaml"} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := regexp.MustCompile(`serverName: (\S+)`).FindSubmatch(content)
		secret := regexp.MustCompile(`ca: \{secret: \{name: (\S+), key: ca.crt\}\}`).FindSubmatch(content)
		if name == nil || secret == nil || !slices.Contains(secrets[string(secret[1])].DNSNames, string(name[1])) {
			t.Errorf("%s: verifies %q against %q, which cert-manager does not make for it", path, name, secret)
		}
	}
}
