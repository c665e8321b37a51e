// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"errors"
)

// Source provides the serving certificate of the webhook server. GetCertificate and CABundle are safe for
// concurrent use. Prepare is called until it succeeds, and then Run once.
type Source interface {
	// Prepare returns nil once a first certificate and, where the source has one, its CA bundle are
	// available. Its error names what is missing and what to do about it.
	Prepare(ctx context.Context) error

	// Run keeps certificate and bundle current until ctx ends, and then returns nil. Failures are logged
	// and counted; the last valid certificate stays in use.
	Run(ctx context.Context) error

	// GetCertificate returns the current certificate, for tls.Config. It fails before Prepare
	// has succeeded.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// CABundle returns the PEM certificates that clients must trust. The bytes change only when the set
	// of authorities does, since each change makes the API server convert all stored objects again. Nil
	// means that another component distributes the bundle. The caller must not modify the bytes.
	CABundle() []byte

	// Err returns why what was last read is not in use; nil where it is, or Run has read nothing yet.
	Err() error
}

// Keeper is a Source that keeps its CA bundle where its other replicas read it.
type Keeper interface {
	Source

	// Latest returns the bundle as it is stored now. A caller that is about to replace one in an object calls it after having
	// read that object: a replica that was disconnected may hold an old bundle, and must not restore it.
	Latest(ctx context.Context) ([]byte, error)
}

// ErrBundleMissing marks an object that was read and lacks part of a CA bundle. An error about a bundle
// that does not wrap it means only that an object could not be read.
var ErrBundleMissing = errors.New("does not carry all of the CA bundle")

// ErrTrustedNowhere marks that objects were read, and that each of them lacks part of a CA bundle: API servers
// would refuse whatever its authorities sign.
var ErrTrustedNowhere = errors.New("no object carries all of the CA bundle")
