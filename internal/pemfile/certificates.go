// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pemfile reads the PEM text of Secrets and files. Its errors never quote the content.
package pemfile

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ErrNoCertificate marks PEM text without a single certificate.
var ErrNoCertificate = errors.New("holds no certificate")

// ParseCertificates reads PEM text that holds certificates and nothing else. A block of any other
// type is refused, so that a private key pasted into a bundle cannot travel on; so is text after
// the last block, which is what a truncated file looks like. Errors never quote the content.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for rest := text; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			if len(found) == 0 {
				return nil, ErrNoCertificate
			}
			if len(bytes.TrimSpace(rest)) > 0 {
				return nil, fmt.Errorf("has text after certificate %d that is not PEM", len(found))
			}
			return found, nil
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("has a PEM block of type %.40q where only certificates belong", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d does not parse: %w", len(found)+1, err)
		}
		found = append(found, certificate)
	}
}
