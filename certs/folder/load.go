// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
)

// maxFile bounds what is read of one file, in bytes. A Secret holds 1 MiB at most.
const maxFile = 1 << 20

// pair is what the files hold together.
type pair struct {
	served *tls.Certificate
	bundle []byte // nil where there is no ca.crt
}

// same compares the whole chain and the bundle: an intermediate may be replaced alone.
func (p *pair) same(other *pair) bool {
	equal := func(a, b []byte) bool { return string(a) == string(b) }
	return slices.EqualFunc(p.served.Certificate, other.served.Certificate, equal) && equal(p.bundle, other.bundle)
}

// load reads the folder and checks that a client could be served with it. Errors name the path,
// the file and the remedy.
func load(path, serverName string, now time.Time) (*pair, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("certificate folder %s: does not exist: mount the Secret with the webhook's certificate there", path)
	case err != nil:
		return nil, fmt.Errorf("certificate folder %s: %w", path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("certificate folder %s: is not a folder: name the folder that holds %s and %s", path, certs.CertKey, certs.PrivateKey)
	}
	fail := func(file, format string, a ...any) error {
		return fmt.Errorf("certificate folder %s: %s: %w", path, file, fmt.Errorf(format, a...))
	}

	text, err := read(path, certs.CertKey)
	if err != nil {
		return nil, fail(certs.CertKey, "%w", err)
	}
	chain, err := certs.ParseCertificates(text)
	if err != nil {
		return nil, fail(certs.CertKey, "%w: it must hold the serving certificate and its intermediates as PEM", err)
	}
	text, err = read(path, certs.PrivateKey)
	if err != nil {
		return nil, fail(certs.PrivateKey, "%w", err)
	}
	key, err := certs.ParseKey(text)
	if err != nil {
		return nil, fail(certs.PrivateKey, "%w: it must hold the key of %s as PEM, not encrypted", err, certs.CertKey)
	}
	leaf := chain[0]
	if !certs.Matches(leaf, key) {
		return nil, fail(certs.PrivateKey, "does not belong to the first certificate of %s: both must come from one issue, with the serving certificate first", certs.CertKey)
	}
	if now.After(leaf.NotAfter) {
		return nil, fail(certs.CertKey, "expired at %s: renew it, or look at why its issuer does not", leaf.NotAfter.Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return nil, fail(certs.CertKey, "is valid from %s only, and here it is %s: check the clocks", leaf.NotBefore.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if serverName != "" {
		if err := leaf.VerifyHostname(serverName); err != nil {
			return nil, fail(certs.CertKey, "%w: issue it for that name", err)
		}
	}

	found := &pair{served: &tls.Certificate{PrivateKey: key, Leaf: leaf}}
	for _, one := range chain {
		found.served.Certificate = append(found.served.Certificate, one.Raw)
	}
	text, err = read(path, certs.CAKey)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // issuers without a known root leave it empty
		return found, nil
	}
	if err != nil {
		return nil, fail(certs.CAKey, "%w", err)
	}
	roots, err := certs.ParseCertificates(text)
	if err != nil {
		return nil, fail(certs.CAKey, "%w: it must hold the authorities that clients trust as PEM, or be absent", err)
	}
	if err := verify(chain, roots, now); err != nil {
		return nil, fail(certs.CAKey, "clients that trust it would refuse %s: %w: both must come from one issue", certs.CertKey, err)
	}
	found.bundle = certs.EncodeCertificates(roots...)
	return found, nil
}

func verify(chain, roots []*x509.Certificate, now time.Time) error {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now}
	for _, one := range roots {
		options.Roots.AddCert(one)
	}
	for _, one := range chain[1:] {
		options.Intermediates.AddCert(one)
	}
	_, err := chain[0].Verify(options)
	return err
}

func read(path, file string) ([]byte, error) {
	whole := filepath.Join(path, file)
	info, err := os.Stat(whole)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file") // to open a pipe would block
	}
	var text []byte
	if err == nil {
		text, err = readBounded(whole)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("does not exist: the Secret must have the key %s: %w", file, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("may not be read by this process: check the file's mode, or fsGroup of the pod: %w", fs.ErrPermission)
	}
	return text, err
}

func readBounded(whole string) ([]byte, error) {
	opened, err := os.Open(whole) //nolint:gosec // whoever starts the process names the folder
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	text, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return text, err
}
