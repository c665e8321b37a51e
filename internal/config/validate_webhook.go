// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net"
	"slices"

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
	var errs field.ErrorList
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
	errs = append(errs, w.TLS.validate(path.Child("tls"))...)
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
	default:
		errs = append(errs, field.NotSupported(path.Child("source"), c.Source, []string{SourceSelfSigned, SourceFolder}))
	}
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
