// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"
)

// tlsVersions leaves out what RFC 8996 retired.
var tlsVersions = []string{"VersionTLS12", "VersionTLS13"}

// An object is at most 1.5 MiB in etcd, and a review carries two of them at most. Above the
// largest value a single request could take the memory of the whole process.
const (
	minBodyBytes = 1 << 20
	maxBodyBytes = 64 << 20
)

func (w Webhook) validate(path *field.Path) field.ErrorList {
	errs := w.TLS.validate(path.Child("tls")) // which the metrics server follows too
	if !w.Enabled {
		return errs
	}
	if w.Port < 0 || w.Port > 65535 {
		errs = append(errs, field.Invalid(path.Child("port"), w.Port, "must be from 0 to 65535"))
	}
	if w.MaxBodyBytes < minBodyBytes || w.MaxBodyBytes > maxBodyBytes {
		errs = append(errs, field.Invalid(path.Child("maxBodyBytes"), w.MaxBodyBytes, "must be from 1048576 (1 MiB) to 67108864 (64 MiB)"))
	}
	if w.DrainDelay.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("drainDelay"), w.DrainDelay.Duration.String(), "must not be negative"))
	}
	errs = append(errs, positive(path.Child("drainTimeout"), w.DrainTimeout)...)
	errs = append(errs, w.Clients.validate(path.Child("clients"))...)
	return append(errs, w.Certificates.validate(path.Child("certificates"))...)
}

func (t TLS) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !slices.Contains(tlsVersions, t.MinVersion) {
		errs = append(errs, field.NotSupported(path.Child("minVersion"), t.MinVersion, tlsVersions))
	}
	if len(t.CipherSuites) > 0 && t.MinVersion == "VersionTLS13" {
		errs = append(errs, field.Invalid(path.Child("cipherSuites"), t.CipherSuites, "has no effect with TLS 1.3, which has no choice of cipher suites; set minVersion: VersionTLS12 or leave it out"))
	}
	for i, name := range t.CipherSuites {
		if !slices.Contains(cliflag.PreferredTLSCipherNames(), name) {
			errs = append(errs, field.NotSupported(path.Child("cipherSuites").Index(i), name, cliflag.PreferredTLSCipherNames()))
		}
	}
	return errs
}

func (c Certificates) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch c.Source {
	case SourceSelfSigned:
		for _, problem := range validation.IsDNS1123Subdomain(c.SecretName) {
			errs = append(errs, field.Invalid(path.Child("secretName"), c.SecretName, problem))
		}
		if c.Folder != "" {
			errs = append(errs, field.Invalid(path.Child("folder"), c.Folder, "is for source folder; the source is selfSigned"))
		}
	case SourceFolder:
		if c.Folder == "" {
			errs = append(errs, field.Required(path.Child("folder"), "source folder reads tls.crt, tls.key and ca.crt there"))
		}
	case SourceCertManager:
		errs = append(errs, c.CertManager.validate(path.Child("certManager"))...)
	default:
		errs = append(errs, field.NotSupported(path.Child("source"), c.Source, []string{SourceSelfSigned, SourceCertManager, SourceFolder}))
	}
	errs = append(errs, c.lifetimes(path)...)
	for i, name := range c.DNSNames {
		if net.ParseIP(name) != nil {
			continue
		}
		for _, problem := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(path.Child("dnsNames").Index(i), name, problem))
		}
	}
	return errs
}

// leastValidity leaves time to renew: what is younger may be refused by a client whose clock is late.
const leastValidity = time.Minute

func (c Certificates) lifetimes(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Validity.Duration < leastValidity {
		errs = append(errs, field.Invalid(path.Child("validity"), c.Validity.Duration.String(), "must be at least "+leastValidity.String()))
	}
	if c.AuthorityValidity.Duration < 10*c.Validity.Duration {
		errs = append(errs, field.Invalid(path.Child("authorityValidity"), c.AuthorityValidity.Duration.String(),
			"must be at least ten times validity, "+c.Validity.Duration.String()+": otherwise certificates outlive the root that signed them"))
	}
	return errs
}

func (c CertManager) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, value := range map[string]string{"issuerName": c.IssuerName, "issuerGroup": c.IssuerGroup, "certificate": c.Certificate, "secretName": c.SecretName} {
		if name == "issuerName" && value == "" {
			continue
		}
		for _, problem := range validation.IsDNS1123Subdomain(value) {
			errs = append(errs, field.Invalid(path.Child(name), value, problem))
		}
	}
	if c.IssuerKind == "" {
		errs = append(errs, field.Required(path.Child("issuerKind"), "such as "+IssuerKind+" or "+ClusterIssuerKind))
	}
	return errs
}

func (c Clients) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(c.Names) > 0 && c.CAFile == "" {
		errs = append(errs, field.Required(path.Child("caFile"), "names are those of certificates that an authority of this file has signed"))
	}
	for i, name := range c.Names {
		if name == "" {
			errs = append(errs, field.Required(path.Child("names").Index(i), "a common name or DNS name"))
		}
	}
	return errs
}
