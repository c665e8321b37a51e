// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientca

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// maxBytes bounds the file. A certificate takes 1 to 2 KB.
const maxBytes = 1 << 20

// authorities are the contents of a file.
type authorities struct {
	text   []byte
	pool   *x509.CertPool
	expiry time.Time // of the one that expires first
}

// read reads and parses the file.
func read(path string) (*authorities, error) {
	file, err := os.Open(path) //nolint:gosec // the administrator names the file
	if err != nil {
		return nil, err // the error names the file
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxBytes)
	}
	found, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return found, nil
}

// parse parses PEM text with certificates of authorities. Anything else in the text is an error, since it is a mistake.
func parse(text []byte) (*authorities, error) {
	certificates, err := pemfile.ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	found := &authorities{text: text, pool: x509.NewCertPool()}
	for i, certificate := range certificates {
		if !certificate.BasicConstraintsValid || !certificate.IsCA {
			return nil, fmt.Errorf("certificate %d is of no authority: put the one there that signs the API server's", i+1)
		}
		found.pool.AddCert(certificate)
		if found.expiry.IsZero() || certificate.NotAfter.Before(found.expiry) {
			found.expiry = certificate.NotAfter
		}
	}
	return found, nil
}
