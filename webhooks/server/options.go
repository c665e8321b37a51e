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

// Values for a deployment, where Options take a zero literally.
const (
	// DefaultPort is where a Service of a webhook usually points.
	DefaultPort = 9443
	// DefaultDrainDelay outlasts the removal of an endpoint in common clusters.
	DefaultDrainDelay = 10 * time.Second
)

// Defaults of Options.
const (
	// DefaultDrainTimeout is the 30 s that an API server waits for a conversion, and a margin.
	DefaultDrainTimeout      = 40 * time.Second
	DefaultReadHeaderTimeout = 5 * time.Second
	DefaultReadTimeout       = 40 * time.Second // its end cancels the request, so it outlasts a conversion
	DefaultWriteTimeout      = 45 * time.Second
	// DefaultIdleTimeout outlasts the 90 s after which an API server closes a connection. A server that closes first
	// loses the request that its client has just sent on it, and an API server tries no webhook again.
	DefaultIdleTimeout    = 2 * time.Minute
	DefaultMaxConnections = 1024
	DefaultMaxInFlight    = 64
	DefaultMemory         = 144 << 20
)

// Options of a Server.
type Options struct {
	// Host is the address to listen on. Default "": all of them.
	Host string
	// Port is the port to listen on; 0 takes a free one, which Addr tells. See DefaultPort.
	Port int

	// Certificate returns the serving certificate, on every handshake. Required.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// CABundle returns the PEM bundle that clients are told to trust; nil, or nil returned,
	// where another component tells them.
	CABundle func() []byte
	// ServerName is the DNS name that clients use, such as fairlead-webhook.fairlead-system.svc.
	// Default "": the handshake with itself does not look at the name.
	ServerName string

	// MinTLSVersion is tls.VersionTLS12 or tls.VersionTLS13. Default TLS 1.3.
	MinTLSVersion uint16
	// CipherSuites for TLS 1.2; those of 1.3 are fixed. Default: Go's choice. Suites that Go calls
	// insecure are refused.
	CipherSuites []uint16

	// ClientCAs returns the authorities that sign the certificates of callers, on every handshake
	// and request; nil returned trusts no caller. Default nil: callers need no certificate.
	ClientCAs func() *x509.CertPool
	// ClientNames are the common names or DNS names of which a caller's certificate must have one.
	// Default: any certificate of ClientCAs.
	ClientNames []string
	// Anonymous are the registered paths that answer callers without a certificate all the same.
	// Default: none.
	Anonymous []string

	// DrainDelay is how long the server goes on answering after it is told to stop, so that
	// no request is sent here any more when it closes; 0 is none. See DefaultDrainDelay.
	DrainDelay time.Duration
	// DrainTimeout bounds the wait for requests in flight after that. Default DefaultDrainTimeout.
	DrainTimeout time.Duration

	// ReadHeaderTimeout, ReadTimeout, WriteTimeout and IdleTimeout are those of http.Server. Their
	// defaults are the constants of the same names.
	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	WriteTimeout      time.Duration
	IdleTimeout       time.Duration

	// MaxConnections bounds open connections. A further one takes the place of one that has kept the
	// server waiting for a second or more; while there is none, it waits in the listener's queue. Default
	// DefaultMaxConnections.
	MaxConnections int
	// MaxInFlight bounds the requests worked on, for each path. Further ones wait, as a conversion that is
	// turned away may not be tried again. A request counts from when its body is there until its answer
	// begins. Default DefaultMaxInFlight.
	MaxInFlight int
	// Memory bounds, in bytes and by an estimate, what requests hold that are no small ones: a third of it
	// is for bodies above 64 KiB, and two thirds for work on requests that may cost more than 1 MiB.
	// Default DefaultMemory.
	Memory int64

	// Logger is told of start, readiness and stop, and, bounded, of connection errors. Defaults
	// to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics. Default: they are not exposed.
	Registerer prometheus.Registerer

	// Now tells the time by which certificates are judged. Default: time.Now.
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
	for value, fallback := range map[*time.Duration]time.Duration{
		&o.DrainTimeout:      DefaultDrainTimeout,
		&o.ReadHeaderTimeout: DefaultReadHeaderTimeout,
		&o.ReadTimeout:       DefaultReadTimeout,
		&o.WriteTimeout:      DefaultWriteTimeout,
		&o.IdleTimeout:       DefaultIdleTimeout,
	} {
		if *value <= 0 {
			*value = fallback
		}
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

// check says what of the options cannot work.
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
		// The API server speaks HTTP/1.1 to webhooks, so HTTP/2 would only add what can go wrong.
		NextProtos: []string{"http/1.1"},
	}
}
