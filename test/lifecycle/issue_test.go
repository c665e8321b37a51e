// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// issued is a serving certificate with its key and its root, as PEM.
type issued struct{ cert, key, ca string }

func (i issued) files() map[string]string {
	return map[string]string{"tls.crt": i.cert, "tls.key": i.key, "ca.crt": i.ca}
}

// issue makes a certificate for the webhook Service that expires in a time, from a root of its own.
func (s *suite) issue(expires time.Duration) issued {
	s.Helper()
	return s.issueFor(expires, framework.ServerName)
}

func (s *suite) issueFor(expires time.Duration, name string) issued {
	s.Helper()
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		s.Must(err)
		return key
	}
	rootKey, key := newKey(), newKey()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	s.Must(err)
	leafDER, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(expires),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, root, key.Public(), rootKey)
	s.Must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	s.Must(err)
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return issued{cert: encode("CERTIFICATE", leafDER), key: encode("PRIVATE KEY", keyDER), ca: encode("CERTIFICATE", rootDER)}
}

// folder makes one with files in it.
func (s *suite) folder(files map[string]string) string {
	s.Helper()
	path := s.TempDir()
	s.fill(path, files)
	return path
}

// fill writes files, tls.crt last: a pair is complete with it.
func (s *suite) fill(folder string, files map[string]string) {
	s.Helper()
	s.Must(os.MkdirAll(folder, 0o700))
	for _, name := range []string{"ca.crt", "tls.key", "tls.crt"} {
		if content, ok := files[name]; ok {
			s.Must(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
		}
	}
}
