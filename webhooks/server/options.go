// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// DefaultDrainDelay outlasts the removal of an endpoint in common clusters. Options take a zero literally.
const DefaultDrainDelay = 10 * time.Second

// Timeouts of http.Server.
const (
	readHeaderTimeout = 5 * time.Second
	ReadTimeout       = 40 * time.Second // its end cancels the request, so it outlasts a conversion
	WriteTimeout      = 45 * time.Second
	// idleTimeout outlasts the 90 s after which an API server closes a connection. A server that closes first loses
	// the request that its client has just sent on it, and an API server tries no webhook again.
	idleTimeout = 2 * time.Minute
)

// Defaults of Options.
const (
	// DefaultDrainTimeout is the 30 s that an API server waits for a conversion, and a margin.
	DefaultDrainTimeout   = 40 * time.Second
	DefaultMaxConnections = 1024
	DefaultMaxInFlight    = 64
	DefaultMemory         = 144 << 20
)

// Options of a Server.
type Options struct {
	// Host is the address to listen on. Defaults to "": all of them.
	Host string
	// Port is the port to listen on; 0 takes a free one, which Addr returns.
	Port int

	// Certificate returns the serving certificate, on every handshake. Required.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// CABundle returns the PEM bundle that is published to clients; nil, or nil returned,
	// where another component publishes it.
	CABundle func() []byte
	// ServerName is the DNS name that clients use, such as fairlead-webhook.fairlead-system.svc.
	// Default "": the handshake with itself does not look at the name.
	ServerName string

	// MinTLSVersion is tls.VersionTLS12 or tls.VersionTLS13. Defaults to TLS 1.3.
	MinTLSVersion uint16
	// CipherSuites for TLS 1.2; those of 1.3 are fixed. Defaults to Go's choice. Suites that Go calls
	// insecure are refused.
	CipherSuites []uint16

	// ClientCAs returns the authorities that sign the certificates of callers, on every handshake
	// and request; nil returned trusts no caller. Defaults to nil: callers need no certificate.
	ClientCAs func() *x509.CertPool
	// ClientNames are the common names or DNS names of which a caller's certificate must have one.
	// Defaults to any certificate of ClientCAs.
	ClientNames []string
	// Anonymous are the registered paths that answer callers without a certificate all the same.
	// Defaults to none.
	Anonymous []string

	// DrainDelay is how long the server goes on serving after its context has ended, so that
	// no request is sent here any more when it closes; 0 is none. See DefaultDrainDelay.
	DrainDelay time.Duration
	// DrainTimeout bounds the wait for requests in flight after that. Defaults to DefaultDrainTimeout.
	DrainTimeout time.Duration

	// MaxConnections bounds open connections. A further one takes the place of one that has kept the
	// server waiting for a second or more; while there is none, it waits in the listener's queue. Default
	// DefaultMaxConnections.
	MaxConnections int
	// MaxInFlight bounds the requests worked on, for each path. Further ones wait, as a conversion that is
	// turned away may not be tried again. A request counts from when its body is there until its answer
	// begins. Defaults to DefaultMaxInFlight.
	MaxInFlight int
	// Memory bounds, in bytes and by an estimate, what requests hold that are no small ones: a third of it
	// is for bodies above 64 KiB, and two thirds for work on requests that may cost more than 1 MiB.
	// Defaults to DefaultMemory.
	Memory int64

	// Logger logs start, readiness and stop, and, within bounds, connection errors. Defaults
	// to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer

	// Now is the time that certificates are checked at. Defaults to time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MinTLSVersion == 0 {
		o.MinTLSVersion = tls.VersionTLS13
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = DefaultMaxConnections
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	return o
}

// check returns an error for options that cannot work.
func (o Options) check() error {
	var errs []error
	if o.Certificate == nil {
		errs = append(errs, errors.New("no source of certificates is given"))
	}
	if o.Port < 0 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d is not between 0 and 65535", o.Port))
	}
	if o.DrainDelay < 0 {
		errs = append(errs, fmt.Errorf("the drain delay %s is negative", o.DrainDelay))
	}
	if o.MinTLSVersion != tls.VersionTLS12 && o.MinTLSVersion != tls.VersionTLS13 {
		errs = append(errs, fmt.Errorf("the minimum TLS version is 1.2 or 1.3, not %s", tls.VersionName(o.MinTLSVersion)))
	}
	if o.ClientCAs == nil && len(o.ClientNames) > 0 {
		errs = append(errs, errors.New("names of clients are given, and no authorities that sign their certificates"))
	}
	secure := make(map[uint16]bool)
	for _, suite := range tls.CipherSuites() {
		secure[suite.ID] = true
	}
	for _, id := range o.CipherSuites {
		if !secure[id] {
			errs = append(errs, fmt.Errorf("cipher suite %s is unknown or insecure", tls.CipherSuiteName(id)))
		}
	}
	return errors.Join(errs...)
}

func (o Options) address() string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

func (o Options) tlsConfig() *tls.Config {
	return &tls.Config{
		GetCertificate: o.Certificate,
		MinVersion:     o.MinTLSVersion,
		CipherSuites:   o.CipherSuites,
		// The API server uses HTTP/1.1 for webhooks, so HTTP/2 would only add what can go wrong.
		NextProtos: []string{"http/1.1"},
	}
}
