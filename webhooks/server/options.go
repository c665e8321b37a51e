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

// DefaultDrainDelay is longer than the removal of an endpoint takes in common clusters. It is for callers: DrainDelay 0
// means no delay.
const DefaultDrainDelay = 10 * time.Second

// Timeouts of http.Server.
const (
	readHeaderTimeout = 5 * time.Second
	ReadTimeout       = 40 * time.Second // a request is canceled when it passes, so it is longer than a conversion
	WriteTimeout      = 45 * time.Second
	// idleTimeout is longer than the 90 s after which an API server closes an idle connection. A server that closes first
	// loses the request that its client sends at that time, and an API server does not retry a webhook.
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

// Options of New.
type Options struct {
	// Host is the address to listen on. Defaults to "": all addresses.
	Host string
	// Port is the port to listen on; 0 means a free port, which Addr returns.
	Port int

	// Certificate returns the serving certificate. It is called for every handshake. Required.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// CABundle returns the PEM bundle that is published to clients. It is nil, or returns nil, if another component
	// publishes the bundle.
	CABundle func() []byte
	// ServerName is the DNS name that clients use, such as fairlead-webhook.fairlead-system.svc. Defaults to "": the self
	// check does not verify the name.
	ServerName string

	// MinTLSVersion is tls.VersionTLS12 or tls.VersionTLS13. Defaults to TLS 1.3.
	MinTLSVersion uint16
	// CipherSuites are those for TLS 1.2; those of TLS 1.3 are fixed. Defaults to Go's choice. Suites that Go calls
	// insecure are refused.
	CipherSuites []uint16

	// ClientCAs returns the authorities of the callers' certificates. It is called for every handshake and request; if it
	// returns nil, no caller is trusted. Defaults to nil: callers need no certificate.
	ClientCAs func() *x509.CertPool
	// ClientNames are common names or DNS names. The certificate of a caller must have one of them. Defaults to none: any
	// certificate of ClientCAs is accepted.
	ClientNames []string
	// Anonymous are registered paths that callers without a certificate may use. Defaults to none.
	Anonymous []string

	// DrainDelay is how long the server continues to serve after its context has ended, until no client sends requests
	// here any more. 0 means no delay. See DefaultDrainDelay.
	DrainDelay time.Duration
	// DrainTimeout bounds the wait for requests in flight after DrainDelay. Defaults to DefaultDrainTimeout.
	DrainTimeout time.Duration

	// MaxConnections bounds open connections. A further one replaces a connection whose client has kept the server
	// waiting for a second or more. If there is none, it waits in the listener's queue. Defaults to
	// DefaultMaxConnections.
	MaxConnections int
	// MaxInFlight bounds the requests that are processed at a time, for each path. Further ones wait, since clients may
	// not retry a refused conversion. A request counts from the end of its body to the begin of its response. Defaults to
	// DefaultMaxInFlight.
	MaxInFlight int
	// Memory bounds the estimated memory of large requests, in bytes. A third is for bodies above 64 KiB. Two thirds are
	// for processing requests that may cost more than 1 MiB. Defaults to DefaultMemory.
	Memory int64

	// Logger logs start, readiness and stop, and a bounded number of connection errors. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer

	// Now returns the time at which certificates are verified. Defaults to time.Now.
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
		// The API server uses HTTP/1.1 for webhooks. HTTP/2 would only add faults.
		NextProtos: []string{"http/1.1"},
	}
}
