// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Where a serving certificate comes from.
const (
	// SourceSelfSigned makes a root and a serving certificate, shared by replicas in a Secret.
	SourceSelfSigned = "selfSigned"
	// SourceFolder reads tls.crt, tls.key and ca.crt from a folder, such as a mounted Secret of
	// cert-manager.
	SourceFolder = "folder"
)

// Webhook is the server of admission and conversion.
type Webhook struct {
	// Host is the address to listen on. Empty means all.
	Host string `json:"host,omitempty"`

	// Port is the port to listen on. The default is 9443.
	Port int `json:"port,omitempty"`

	// MaxBodyBytes bounds the body of a request. The default is 16 MiB, ten times the largest
	// object that etcd stores.
	MaxBodyBytes int64 `json:"maxBodyBytes,omitempty"`

	// DrainDelay is how long a stopping server goes on accepting, not ready, so that the API
	// servers have time to learn that the endpoint is gone. The default is 10s.
	DrainDelay metav1.Duration `json:"drainDelay,omitempty"`

	// DrainTimeout bounds how long requests in flight may take after that. The default is 40s:
	// the API server itself gives a conversion 30 s.
	DrainTimeout metav1.Duration `json:"drainTimeout,omitempty"`

	// TLS bounds what is negotiated.
	TLS TLS `json:"tls,omitempty"`

	// Certificates says where the serving certificate comes from.
	Certificates Certificates `json:"certificates,omitempty"`
}

// TLS bounds what is negotiated.
type TLS struct {
	// MinVersion is VersionTLS12 or VersionTLS13. The default is VersionTLS13.
	MinVersion string `json:"minVersion,omitempty"`

	// CipherSuites are the names of the cipher suites for TLS 1.2. Empty means Go's choice; TLS
	// 1.3 has no choice.
	CipherSuites []string `json:"cipherSuites,omitempty"`
}

// Certificates says where the serving certificate comes from and who publishes its root.
type Certificates struct {
	// Source is selfSigned (default) or folder.
	Source string `json:"source,omitempty"`

	// Folder is the path for source folder.
	Folder string `json:"folder,omitempty"`

	// SecretName is the Secret with the root, for source selfSigned. The default is
	// fairlead-webhook-ca.
	SecretName string `json:"secretName,omitempty"`

	// DNSNames are further names or addresses of the certificate, for source selfSigned. The names of the
	// Service are always in it.
	DNSNames []string `json:"dnsNames,omitempty"`

	// InjectCA publishes the root in the webhook configurations and CRDs. The default is true;
	// false leaves it to somebody else, such as cert-manager's cainjector.
	InjectCA bool `json:"injectCA"`
}
