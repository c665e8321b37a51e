// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package keypair

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// handshakeTimeout bounds a handshake, which takes a millisecond or so.
const handshakeTimeout = 10 * time.Second

// Handshake returns why no client could be served with the certificate, or nil. A key that can be parsed may still be
// of no use for TLS, such as one of P-224. It connects a client and a server of this process. Where roots are given,
// the client trusts these alone and verifies the name; otherwise it accepts any certificate.
func Handshake(served *tls.Certificate, roots []*x509.Certificate, serverName string, now time.Time) error {
	at := func() time.Time { return now }
	trusts := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: serverName, Time: at}
	if trusts.InsecureSkipVerify = len(roots) == 0; !trusts.InsecureSkipVerify {
		trusts.RootCAs = x509.NewCertPool()
		for _, one := range roots {
			trusts.RootCAs.AddCert(one)
		}
	}
	ours, theirs := net.Pipe()
	if err := errors.Join(ours.SetDeadline(time.Now().Add(handshakeTimeout)),
		theirs.SetDeadline(time.Now().Add(handshakeTimeout))); err != nil {
		return err
	}
	server := tls.Server(ours, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*served}, Time: at})
	client := tls.Client(theirs, trusts)
	ended := make(chan error, 1)
	go func() {
		ended <- panics.Try("TLS handshake", func() error { return server.Handshake() }) //nolint:noctx // the pipe has a deadline
		// Or the client waits for the answer that was not sent.
		_ = ours.Close()
	}()
	err := client.Handshake() //nolint:noctx // as above
	_ = theirs.Close()
	if refused := <-ended; refused != nil && !certificateRefused(err) {
		return refused // it says more than the alert that the client has received
	}
	return err
}

// certificateRefused reports whether the client refused the certificate; the server has the alert alone then.
func certificateRefused(err error) bool {
	var invalid *tls.CertificateVerificationError
	return errors.As(err, &invalid)
}
