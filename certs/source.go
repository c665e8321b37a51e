// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"errors"
)

// Source provides the serving certificate of the webhook server. GetCertificate and CABundle may
// be called from any goroutine at any time; Prepare and then Run are called once each.
type Source interface {
	// Prepare returns nil once a first certificate and, where the source has one, its CA bundle
	// are there. Its error names what is missing and what to do about it.
	Prepare(ctx context.Context) error

	// Run keeps certificate and bundle fresh until ctx ends, and then returns nil. What goes
	// wrong meanwhile is logged and counted; the last good certificate stays in use.
	Run(ctx context.Context) error

	// GetCertificate returns the current certificate, for tls.Config. It fails before Prepare
	// has succeeded.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// CABundle returns the PEM certificates that clients must trust. The bytes change only when
	// the set of authorities does, since every change makes the API server convert all stored
	// objects again. Nil means that another component brings the trust to the clients. The caller
	// must not change the bytes.
	CABundle() []byte
}

// ErrBundleMissing marks what was read back and does not carry all of a CA bundle. An error without
// it, about whether a bundle has arrived, says only that the targets could not be read.
var ErrBundleMissing = errors.New("does not carry all of the CA bundle")
