// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// The intervals of the self check.
const (
	firstRetry       = 20 * time.Millisecond // doubles up to lookEvery
	lookEvery        = time.Second           // how often the certificate and the bundle are compared, without a handshake
	handshakeEvery   = 5 * time.Second       // how often the handshake is repeated if nothing has changed
	handshakeTimeout = 5 * time.Second       // includes the response
)

// proof holds the inputs of the last good handshake.
type proof struct {
	chain  [][]byte
	bundle []byte
	at     time.Time
}

func (p *proof) covers(chain [][]byte, bundle []byte, now time.Time) bool {
	return p != nil && now.Sub(p.at) < handshakeEvery && now.Sub(p.at) >= 0 &&
		bytes.Equal(p.bundle, bundle) && slices.EqualFunc(p.chain, chain, bytes.Equal)
}

// watch sets the readiness by repeated self checks until ctx ends.
func (s *Server) watch(ctx context.Context) {
	var last *proof
	wait := firstRetry
	for {
		next, leaf, err := s.look(ctx, last)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if last != nil {
				wait = firstRetry
			}
			last = nil
			s.readiness.failed(err)
		} else {
			last, wait = next, lookEvery
			s.readiness.proven(leaf)
		}
		if !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, lookEvery)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// look compares the certificate and the bundle with the last proof. If they differ or the proof is old, it makes a
// handshake.
func (s *Server) look(ctx context.Context, last *proof) (*proof, *x509.Certificate, error) {
	certificate, err := s.certificate()
	if err != nil {
		return nil, nil, err
	}
	leaf, err := leafOf(certificate)
	if err != nil {
		return nil, nil, err
	}
	s.metrics.expiry.Set(float64(leaf.NotAfter.Unix()))
	now := s.now()
	if err := current(leaf, now); err != nil {
		return nil, nil, err
	}
	var bundle []byte
	if s.options.CABundle != nil {
		bundle = s.options.CABundle()
	}
	if last.covers(certificate.Certificate, bundle, now) {
		return last, leaf, nil
	}
	if err := s.handshake(ctx, bundle); err != nil {
		s.metrics.selfCheckFailures.Inc()
		return nil, nil, err
	}
	return &proof{chain: certificate.Certificate, bundle: bytes.Clone(bundle), at: now}, leaf, nil
}

func (s *Server) certificate() (certificate *tls.Certificate, err error) {
	defer func() {
		if p := recover(); p != nil {
			certificate, err = nil, fmt.Errorf("the source of certificates panicked: %v", p)
		}
	}()
	certificate, err = s.options.Certificate(&tls.ClientHelloInfo{ServerName: s.options.ServerName})
	if err != nil {
		return nil, fmt.Errorf("it has no certificate: %w", err)
	}
	if certificate == nil || len(certificate.Certificate) == 0 {
		return nil, errors.New("it has no certificate yet")
	}
	return certificate, nil
}

func leafOf(certificate *tls.Certificate) (*x509.Certificate, error) {
	if certificate.Leaf != nil {
		return certificate.Leaf, nil
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("its certificate cannot be read: %w", err)
	}
	return leaf, nil
}

// current returns an error if a certificate is not valid at a time.
func current(certificate *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(certificate.NotBefore):
		return fmt.Errorf("its certificate is valid only from %s; look at the clocks", certificate.NotBefore.Format(time.RFC3339))
	case now.After(certificate.NotAfter):
		return fmt.Errorf("its certificate expired at %s; its issuer must renew it", certificate.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// selfPath is the path of the self check. Any client may call it, and learns whether the server is blocked.
const selfPath = "/self-check"

// serveSelf responds once a request could have been processed on every path. It waits for its turn as other requests
// do.
func (s *Server) serveSelf(w http.ResponseWriter, r *http.Request) {
	t := s.boundBody(w, r, selfPath)
	defer t.release()
	if _, err := io.Copy(io.Discard, io.LimitReader(t, smallBody)); err != nil {
		return // the caller is gone
	}
	for path, slots := range s.slots.all() {
		if path == selfPath {
			continue // its turn has come at this path
		}
		p, err := slots.acquire(r.Context(), t.source, 1, handshakeTimeout*4/5)
		if err != nil {
			review.Refuse(http.StatusServiceUnavailable, "requests to %s get %s", path, err).Respond(w)
			return
		}
		p.release()
	}
	w.WriteHeader(http.StatusOK)
}

// handshake connects to the server as the API server does, over the network and against the published CA, and sends a
// request. It tests all parts together: each can be correct while the whole does not work.
func (s *Server) handshake(ctx context.Context, bundle []byte) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	var dialer net.Dialer
	// An unspecified address such as [::] dials the local machine.
	raw, err := dialer.DialContext(ctx, "tcp", s.Addr().String())
	if err != nil {
		return fmt.Errorf("it cannot reach itself: %w", err)
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName: s.options.ServerName,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		//nolint:gosec // verify does what is switched off here, with roots that may come from the chain itself.
		InsecureSkipVerify: true,
		VerifyConnection:   func(state tls.ConnectionState) error { return s.verify(state.PeerCertificates, bundle) },
	})
	defer func() { _ = conn.Close() }()
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("a TLS handshake with itself failed: %w", err)
	}
	if err := askItself(ctx, conn); err != nil {
		return fmt.Errorf("it does not answer itself: %w", err)
	}
	return nil
}

// askItself sends a request with a body, and requires a response.
func askItself(ctx context.Context, conn net.Conn) error {
	if by, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(by); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "POST "+selfPath+" HTTP/1.1\r\nHost: self\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1024)) // as much of the body as can be read
		return fmt.Errorf("%s: %s", answer.Status, said)
	}
	return nil
}

// verify checks the chain against the bundle. Without a bundle, it checks the chain against itself.
func (s *Server) verify(chain []*x509.Certificate, bundle []byte) error {
	if len(chain) == 0 {
		return errors.New("no certificate was presented")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	if len(bundle) == 0 {
		roots.AddCert(chain[len(chain)-1])
	} else if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("the published CA bundle holds no certificate that can be read")
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName:       s.options.ServerName,
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   s.now(),
	})
	return err
}
