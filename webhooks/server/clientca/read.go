// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientca

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxBytes bounds the file. A certificate takes 1 to 2 KB.
const maxBytes = 1 << 20

// authorities are what a file was found to hold.
type authorities struct {
	text   []byte
	pool   *x509.CertPool
	expiry time.Time // of the one that expires first
}

// read reads and parses the file.
func read(path string) (*authorities, error) {
	file, err := os.Open(path) //nolint:gosec // the administrator names the file
	if err != nil {
		return nil, err // names the file
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

// parse reads PEM text that holds certificates of authorities and nothing else. Anything else is
// refused, since it is a mistake: a private key does not belong in this file, and text after the last
// block is what a file looks like that is being written. Errors quote nothing of the text.
func parse(text []byte) (*authorities, error) {
	found := &authorities{text: text, pool: x509.NewCertPool()}
	for n := 1; ; n++ {
		var block *pem.Block
		block, text = pem.Decode(text)
		switch {
		case block == nil && n == 1:
			return nil, errors.New("holds no certificate")
		case block == nil && len(bytes.TrimSpace(text)) > 0:
			return nil, fmt.Errorf("has text after certificate %d that is not PEM", n-1)
		case block == nil:
			return found, nil
		case block.Type != "CERTIFICATE":
			return nil, fmt.Errorf("has a PEM block of type %.40q where only certificates belong", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return nil, fmt.Errorf("certificate %d does not parse: %w", n, err)
		case !certificate.BasicConstraintsValid || !certificate.IsCA:
			return nil, fmt.Errorf("certificate %d is of no authority: put the one there that signs the API server's", n)
		}
		found.pool.AddCert(certificate)
		if found.expiry.IsZero() || certificate.NotAfter.Before(found.expiry) {
			found.expiry = certificate.NotAfter
		}
	}
}
