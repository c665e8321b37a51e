// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net"
	"slices"
	"strings"

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
	// Serve webhooks, keep their certificates and publish their root. False: this replica only reconciles, and the rest of
	// `webhook` has no effect except for `tls`, which the metrics server follows. Not both of this and `controllers.enabled`
	// may be false.
	Enabled bool `json:"enabled" default:"true"`

	// Address to listen on. Empty: all.
	Host string `json:"host,omitempty"`

	// Port to listen on.
	Port int `json:"port,omitempty" default:"9443" rule:"0..65535"`

	// Largest request in bytes, 1 MiB to 64 MiB. etcd stores 1.5 MiB of an object, and admission is sent an object and its old
	// state: raise it where yours stores more. Above the bound a single request could take the memory of the whole process.
	MaxBodyBytes int64 `json:"maxBodyBytes,omitempty" default:"4194304" rule:"1048576..67108864"`

	// How long a stopping server goes on accepting while it is not ready, so that the API servers learn that the endpoint is
	// gone.
	DrainDelay metav1.Duration `json:"drainDelay,omitempty" default:"10s" rule:"0s.."`

	// How long requests in flight may take after that. The API server itself gives a conversion 30s.
	DrainTimeout metav1.Duration `json:"drainTimeout,omitempty" default:"40s" rule:"positive"`

	// Names that the MutatingWebhookConfigurations and ValidatingWebhookConfigurations have in which the root is published. There is
	// one of each for a kind, in whose name, in lower case, its name ends. Those of kinds that are left out do not count.
	Configurations []string `json:"configurations,omitempty" default:"[fairlead-externalservice, fairlead-rebootpolicy, fairlead-clusterrebootpolicy, fairlead-chaospod]"`

	TLS          TLS          `json:"tls,omitempty"`
	Certificates Certificates `json:"certificates,omitempty"`
	Clients      Clients      `json:"clients,omitempty"`
}

// TLS bounds what is negotiated. It leaves out the versions that RFC 8996 retired.
type TLS struct {
	// Lowest version of TLS. The metrics server follows it.
	MinVersion string `json:"minVersion,omitempty" default:"VersionTLS13" rule:"VersionTLS12|VersionTLS13"`

	// Cipher suites for TLS 1.2. Empty: Go's choice. TLS 1.3 has no choice.
	CipherSuites []string `json:"cipherSuites,omitempty"`
}

// Certificates configures where the serving certificate comes from and who publishes its root.
type Certificates struct {
	// Where the serving certificate comes from.
	Source string `json:"source,omitempty" default:"selfSigned" rule:"selfSigned|certManager|folder"`

	// Folder with tls.crt, tls.key and ca.crt, for source folder.
	Folder string `json:"folder,omitempty"`

	// Secret with the root that replicas share, for source selfSigned.
	SecretName string `json:"secretName,omitempty" default:"fairlead-webhook-ca"`

	// Further names or addresses of the certificate, beside those of the Service, for sources selfSigned and certManager. For
	// source folder the first one is the name that the certificate must be valid for, in place of the Service's.
	DNSNames []string `json:"dnsNames,omitempty"`

	// How long a serving certificate is valid, for sources selfSigned and certManager. It is renewed after two thirds of that.
	// What is younger than a minute may be refused by a client whose clock is late.
	Validity metav1.Duration `json:"validity,omitempty" default:"168h" rule:"1m.."`

	// How long the root is valid, for source selfSigned; at least ten times `validity`. It is replaced after nine tenths of
	// that.
	AuthorityValidity metav1.Duration `json:"authorityValidity,omitempty" default:"87600h"`

	// Publish the root in the webhook configurations and CRDs. False leaves it to another component, such as cert-manager's
	// cainjector.
	InjectCA bool `json:"injectCA" default:"true"`

	CertManager CertManager `json:"certManager,omitempty"`
}

// CertManager configures what cert-manager is asked for, for source certManager.
type CertManager struct {
	// Issuer of the certificate. Empty: an authority is made for the operator, by a self-signed Issuer, a CA certificate, and
	// an Issuer that signs with it.
	IssuerName string `json:"issuerName,omitempty" rule:"subdomain,optional"`

	// Issuer, ClusterIssuer, or the kind of an external issuer.
	IssuerKind string `json:"issuerKind,omitempty" default:"Issuer"`

	// API group of the issuer.
	IssuerGroup string `json:"issuerGroup,omitempty" default:"cert-manager.io" rule:"subdomain"`

	// Name of the Certificate. It is made where there is none, and used as it is where it exists.
	Certificate string `json:"certificate,omitempty" default:"fairlead-webhook" rule:"subdomain"`

	// Secret that the Certificate fills.
	SecretName string `json:"secretName,omitempty" default:"fairlead-webhook-tls" rule:"subdomain"`

	// Use source selfSigned where cert-manager is not installed, until it is.
	Fallback bool `json:"fallback,omitempty" default:"false"`
}

// Clients configures who may call the webhooks. By default every client that reaches the port may: the API server
// authenticates itself only where it was configured to.
type Clients struct {
	// PEM file with the authorities of the clients' certificates, followed when it changes. Empty: clients need no certificate.
	CAFile string `json:"caFile,omitempty"`

	// Common names or DNS names. A client's certificate must have one of them. Empty: any certificate of the authorities. Needs
	// `caFile`.
	Names []string `json:"names,omitempty"`
}

// Configuration returns the name of the webhook configurations of a kind, such as ExternalService; "" where there is none.
func (w Webhook) Configuration(kind string) string {
	for _, name := range w.Configurations {
		if strings.HasSuffix(name, "-"+strings.ToLower(kind)) {
			return name
		}
	}
	return ""
}

func (w Webhook) validate(path *field.Path) field.ErrorList {
	errs := w.TLS.validate(path.Child("tls")) // which the metrics server follows too
	if !w.Enabled {
		return errs
	}
	errs = append(errs, checkRules(path, w)...)
	for i, name := range w.Configurations {
		errs = append(errs, subdomain(path.Child("configurations").Index(i), name)...)
	}
	errs = append(errs, w.Clients.validate(path.Child("clients"))...)
	return append(errs, w.Certificates.validate(path.Child("certificates"))...)
}

func (t TLS) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, t)
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
	errs := checkRules(path, c)
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
	}
	if c.AuthorityValidity.Duration < 10*c.Validity.Duration {
		errs = append(errs, field.Invalid(path.Child("authorityValidity"), c.AuthorityValidity.Duration.String(),
			"must be at least ten times validity, "+c.Validity.Duration.String()+": otherwise certificates outlive the root that signed them"))
	}
	for i, name := range c.DNSNames {
		if net.ParseIP(name) == nil {
			errs = append(errs, subdomain(path.Child("dnsNames").Index(i), name)...)
		}
	}
	return errs
}

func (c CertManager) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, c)
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
