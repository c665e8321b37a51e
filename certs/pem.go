// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// The keys of a TLS Secret, which are also the file names of one that is mounted.
const (
	CertKey    = "tls.crt"
	PrivateKey = "tls.key"
	CAKey      = "ca.crt"
)

const certificateBlock = "CERTIFICATE"

// EncodeCertificates encodes the certificates as PEM, each once, in the order of their first
// appearance. Equal input gives equal bytes.
func EncodeCertificates(certificates ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for i, certificate := range certificates {
		if !Contains(certificates[:i], certificate) {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate.Raw}))
		}
	}
	return out.Bytes()
}

// Fingerprint returns the SHA-256 of the certificate in hexadecimal.
func Fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// TrustsAll reports whether a CA bundle contains all of the authorities. An invalid bundle contains none.
func TrustsAll(bundle []byte, authorities []*x509.Certificate) bool {
	trusted, err := pemfile.ParseCertificates(bundle)
	return err == nil && !slices.ContainsFunc(authorities, func(one *x509.Certificate) bool { return !Contains(trusted, one) })
}

// Contains reports whether certificate is among the certificates, byte for byte.
func Contains(certificates []*x509.Certificate, certificate *x509.Certificate) bool {
	return slices.ContainsFunc(certificates, certificate.Equal)
}

// ParseKey parses the first private key of PEM text, in PKCS #8, PKCS #1 or SEC 1 form. Blocks
// that only describe a key, such as EC PARAMETERS, are skipped. Errors never quote the content.
func ParseKey(text []byte) (crypto.Signer, error) {
	for rest := text; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			return nil, errors.New("holds no private key")
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("private key of type %q does not parse", block.Type)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("private key of type %T cannot sign", key)
		}
		return signer, nil
	}
}

// Matches reports whether the key belongs to the certificate.
func Matches(certificate *x509.Certificate, key crypto.Signer) bool {
	public, ok := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}
