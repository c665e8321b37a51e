// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is far longer than any cluster of this package lives.
const validity = 365 * 24 * time.Hour

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// pair is a certificate and its key, both PEM.
type pair struct{ cert, key []byte }

// pki holds the certificates by which the components trust each other, in memory and as files of one folder.
type pki struct {
	folder string
	// ca signs the API server's certificate and those of its users.
	ca *authority
	// etcd has an authority of its own: a user of the API server must not be able to read etcd.
	etcd       *authority
	etcdClient pair
}

// newPKI makes all authorities, certificates and keys, and writes them into folder.
func newPKI(folder string) (*pki, error) {
	p := &pki{folder: folder}
	var err error
	if p.ca, err = newAuthority("fairlead-local-cluster"); err != nil {
		return nil, err
	}
	if p.etcd, err = newAuthority("fairlead-local-etcd"); err != nil {
		return nil, err
	}
	apiServer, err := p.ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: APIServer},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)},
	})
	if err != nil {
		return nil, err
	}
	// The others serve only the readiness checks made here.
	component, err := p.ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "fairlead-local-component"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	if err != nil {
		return nil, err
	}
	// etcd is its own client too, for its gateway and its peer port: both usages.
	etcd, err := p.etcd.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: Etcd},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	if err != nil {
		return nil, err
	}
	if p.etcdClient, err = p.etcd.issueClient(APIServer, nil); err != nil {
		return nil, err
	}
	serviceAccounts, err := newKey()
	if err != nil {
		return nil, err
	}
	serviceAccountKey, err := encodeKey(serviceAccounts)
	if err != nil {
		return nil, err
	}
	return p, p.write(map[string][]byte{
		"ca.crt":              p.ca.pem,
		"apiserver.crt":       apiServer.cert,
		"apiserver.key":       apiServer.key,
		"component.crt":       component.cert,
		"component.key":       component.key,
		"etcd-ca.crt":         p.etcd.pem,
		"etcd.crt":            etcd.cert,
		"etcd.key":            etcd.key,
		"etcd-client.crt":     p.etcdClient.cert,
		"etcd-client.key":     p.etcdClient.key,
		"service-account.key": serviceAccountKey,
	})
}

// file is the path of one of the files above.
func (p *pki) file(name string) string { return filepath.Join(p.folder, name) }

func (p *pki) write(files map[string][]byte) error {
	if err := os.Mkdir(p.folder, 0o700); err != nil {
		return fmt.Errorf("write the cluster's certificates: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(p.file(name), content, 0o600); err != nil {
			return fmt.Errorf("write the cluster's certificates: %w", err)
		}
	}
	return nil
}

func newAuthority(name string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of %s back: %w", name, err)
	}
	return &authority{cert: cert, key: key, pem: encodeCert(der)}, nil
}

// issue signs template for a new key.
func (a *authority) issue(template *x509.Certificate) (pair, error) {
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := sign(template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := encodeKey(key)
	return pair{cert: encodeCert(der), key: keyPEM}, err
}

// issueClient makes the certificate of a user: Kubernetes reads the common name as the user's name
// and the organizations as the groups.
func (a *authority) issueClient(name string, groups []string) (pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// clientTLS trusts the authority and shows p.
func (a *authority) clientTLS(p pair) (*tls.Config, error) {
	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("load a client certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // a clock set back must not break a running cluster
	template.NotAfter = template.NotBefore.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	// SEC 1 rather than PKCS #8: the API server reads ServiceAccount keys in this form only.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
