// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"
)

// Where a serving certificate comes from.
const (
	// SourceSelfSigned makes a root and a serving certificate, shared by replicas in a Secret.
	SourceSelfSigned = "selfSigned"
	// SourceFolder reads tls.crt, tls.key and ca.crt from a folder, such as a mounted Secret of
	// cert-manager.
	SourceFolder = "folder"
	// SourceCertManager has cert-manager issue the certificate, and reads it from its Secret.
	SourceCertManager = "certManager"
)

const (
	// IssuerKind is the kind of an issuer of one namespace.
	IssuerKind = "Issuer"
	// ClusterIssuerKind is the kind of an issuer of the whole cluster.
	ClusterIssuerKind = "ClusterIssuer"
)

// Webhook is the server of admission and conversion.
type Webhook struct {
	// Enabled serves webhooks, keeps their certificates and publishes their root. Defaults to
	// true; false is for replicas that only reconcile, while others serve.
	Enabled bool `json:"enabled"`

	// Host is the address to listen on. Empty means all.
	Host string `json:"host,omitempty"`

	// Port is the port to listen on. Defaults to 9443.
	Port int `json:"port,omitempty"`

	// MaxBodyBytes bounds the body of a request. Defaults to 4 MiB: etcd stores 1.5 MiB of an object,
	// admission is sent an object and its old state, and an API server asks to convert one at a time.
	MaxBodyBytes int64 `json:"maxBodyBytes,omitempty"`

	// DrainDelay is how long a stopping server goes on accepting, not ready, so that the API
	// servers have time to learn that the endpoint is gone. Defaults to 10s.
	DrainDelay metav1.Duration `json:"drainDelay,omitempty"`

	// DrainTimeout bounds how long requests in flight may take after that. Defaults to 40s:
	// the API server itself gives a conversion 30 s.
	DrainTimeout metav1.Duration `json:"drainTimeout,omitempty"`

	// MutatingConfiguration and ValidatingConfiguration are the webhook configurations in which the root is
	// published. The defaults are fairlead-mutating and fairlead-validating.
	MutatingConfiguration   string `json:"mutatingConfiguration,omitempty"`
	ValidatingConfiguration string `json:"validatingConfiguration,omitempty"`

	// TLS bounds what is negotiated.
	TLS TLS `json:"tls,omitempty"`

	// Certificates configures where the serving certificate comes from.
	Certificates Certificates `json:"certificates,omitempty"`

	// Clients configures who may call the webhooks.
	Clients Clients `json:"clients,omitempty"`
}

// TLS bounds what is negotiated.
type TLS struct {
	// MinVersion is VersionTLS12 or VersionTLS13. Defaults to VersionTLS13.
	MinVersion string `json:"minVersion,omitempty"`

	// CipherSuites are the names of the cipher suites for TLS 1.2. Empty means Go's choice; TLS
	// 1.3 has no choice.
	CipherSuites []string `json:"cipherSuites,omitempty"`
}

// Certificates configures where the serving certificate comes from and who publishes its root.
type Certificates struct {
	// Source is selfSigned (default), certManager or folder.
	Source string `json:"source,omitempty"`

	// Folder is the path for source folder.
	Folder string `json:"folder,omitempty"`

	// SecretName is the Secret with the root, for source selfSigned. Defaults to
	// fairlead-webhook-ca.
	SecretName string `json:"secretName,omitempty"`

	// DNSNames are further names or addresses of the certificate, for sources selfSigned and
	// certManager; the names of the Service are always in it. For source folder the first one is the name
	// that the certificate must be valid for, which defaults to that of the Service.
	DNSNames []string `json:"dnsNames,omitempty"`

	// Validity is how long a serving certificate is valid, for sources selfSigned and certManager. It
	// is renewed after two thirds of that. Defaults to 168h, seven days.
	Validity metav1.Duration `json:"validity,omitempty"`

	// AuthorityValidity is how long the root is valid, for source selfSigned. It is replaced after
	// 90% of that. Defaults to 87600h, ten years; at least ten times Validity.
	AuthorityValidity metav1.Duration `json:"authorityValidity,omitempty"`

	// CertManager configures what cert-manager is asked for, for source certManager.
	CertManager CertManager `json:"certManager,omitempty"`

	// InjectCA publishes the root in the webhook configurations and CRDs. Defaults to true;
	// false leaves it to another component, such as cert-manager's cainjector.
	InjectCA bool `json:"injectCA"`
}

// CertManager configures what cert-manager is asked for.
type CertManager struct {
	// IssuerName is an Issuer or ClusterIssuer that exists. Empty means that an authority is made for
	// the operator: a self-signed Issuer, a CA certificate, and an Issuer that signs with it.
	IssuerName string `json:"issuerName,omitempty"`

	// IssuerKind is Issuer (default), ClusterIssuer, or the kind of an external issuer.
	IssuerKind string `json:"issuerKind,omitempty"`

	// IssuerGroup is the issuer's API group. Defaults to cert-manager.io.
	IssuerGroup string `json:"issuerGroup,omitempty"`

	// Certificate is the name of the Certificate. It is made where there is none, and used as it is
	// where it exists. Defaults to fairlead-webhook.
	Certificate string `json:"certificate,omitempty"`

	// SecretName is the Secret that the Certificate fills. Defaults to fairlead-webhook-tls.
	SecretName string `json:"secretName,omitempty"`

	// Fallback uses the source selfSigned where cert-manager is not installed, until it is. The
	// default is false: a missing cert-manager is an error.
	Fallback bool `json:"fallback,omitempty"`
}

// Clients configures who may call the webhooks. By default every client that reaches the port may: the API server
// authenticates itself only where it was configured to.
type Clients struct {
	// CAFile is a PEM file with the authorities of the clients' certificates, followed when it
	// changes. Empty means that clients need none.
	CAFile string `json:"caFile,omitempty"`

	// Names are the common names or DNS names of which a client's certificate must have one. Empty
	// means any certificate of the authorities. Needs CAFile.
	Names []string `json:"names,omitempty"`
}

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
	errs = append(errs, subdomain(path.Child("mutatingConfiguration"), w.MutatingConfiguration)...)
	errs = append(errs, subdomain(path.Child("validatingConfiguration"), w.ValidatingConfiguration)...)
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
		errs = append(errs, subdomain(path.Child("secretName"), c.SecretName)...)
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
		if net.ParseIP(name) == nil {
			errs = append(errs, subdomain(path.Child("dnsNames").Index(i), name)...)
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
	for name, value := range map[string]string{"issuerName": c.IssuerName, "issuerGroup": c.IssuerGroup,
		"certificate": c.Certificate, "secretName": c.SecretName} {
		if name != "issuerName" || value != "" {
			errs = append(errs, subdomain(path.Child(name), value)...)
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
