// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
)

// Options of an Authority. Only Client must be set.
type Options struct {
	// Client reads and writes the Secret. It should have a rate limiter of its own.
	Client kubernetes.Interface

	// Namespace and Name are those of the Secret. Defaults to fairlead-system and fairlead-webhook-ca.
	Namespace, Name string

	// Service is the Service through which API servers reach the webhooks. The certificate is valid for
	// <service>.<namespace>.svc and <service>.<namespace>.svc.cluster.local. Defaults to fairlead-webhook.
	Service string

	// ExtraNames are further DNS names and IP addresses of the certificate, such as localhost.
	ExtraNames []string

	// RootValidity is how long a root that is created here is valid. Its rotation begins when a tenth of
	// it is left. At least ten times LeafValidity. Defaults to 10 years.
	RootValidity time.Duration

	// LeafValidity is how long a serving certificate is valid; it is renewed after two thirds of
	// it. Defaults to 7 days.
	LeafValidity time.Duration

	// Interval is how often Run reads the Secret in addition to watching it, and checks the age of the
	// serving certificate. Defaults to 1 minute, at most a sixth of LeafValidity.
	Interval time.Duration

	// Observe returns nil where the whole bundle is in every place that clients read it from, an error
	// that wraps certs.ErrBundleMissing where a place lacks part of it, and any other error where a place
	// could not be read. A root signs only once it was observed. Defaults to nil: Overlap is used.
	Observe func(ctx context.Context, bundle []byte) error

	// Publish writes the bundle to those places. Prepare calls it for a root that had to be created at once, before this
	// replica serves a certificate of it: others may serve one that clients trust. Defaults to nil: it is served at once.
	Publish func(ctx context.Context, bundle []byte) error

	// Published returns, as PEM, the authorities that were published there. It is called before a root is created, whose
	// bundle keeps them: a replica that cannot read the Secret may still serve certificates of a root that is in no
	// Secret any more. Defaults to nil: only the roots that this replica knows are kept.
	Published func(ctx context.Context) ([]byte, error)

	// OtherAuthorities returns the authorities by which replicas with another source of certificates are trusted, and has these
	// publish the given roots too. They are published beside the roots of the Secret, for as long as it returns them. Where it
	// fails, what it returns counts, or what it returned last if that is nil. Defaults to nil: there is no other source.
	OtherAuthorities func(ctx context.Context, roots []*x509.Certificate) ([]*x509.Certificate, error)

	// Overlap is, without Observe, how long a root is trusted before replicas sign with it: the time in
	// which the bundle must reach the clients. Defaults to 2 minutes, at most a third of LeafValidity.
	Overlap time.Duration

	// DeniedTimeout is how long Prepare retries Forbidden and Unauthorized, since roles may be applied
	// just after the Deployment. Defaults to 30 seconds.
	DeniedTimeout time.Duration

	// OnChange is called after the bundle has changed; CABundle then returns the new one. It must not
	// block. Defaults to nil.
	OnChange func()

	// OnFailure is called with each new reason why what was read cannot be used, while the last good certificate stays
	// in use. It must not block. Defaults to nil.
	OnFailure func(error)

	// Clock defaults to the real clock.
	Clock clock.WithTicker

	// Log defaults to logr.Discard().
	Log logr.Logger

	// Registerer registers the metrics. Defaults to nil: they are not published.
	Registerer prometheus.Registerer

	// rootCurve is that of a root's key: P-384, whose signatures cost a test that makes thousands of
	// them more than all else it does. Such tests take P-256.
	rootCurve elliptic.Curve
}

// skew is the tolerated difference between the clocks of two replicas: a former root stays trusted for as much longer
// than its certificates are valid. Each clock may be wrong by an hour.
func (o Options) skew() time.Duration { return min(2*time.Hour, o.LeafValidity/10) }

// backdate is how long before its creation a root, and with it each of its certificates, is valid: API servers and other
// replicas whose clocks are behind would otherwise refuse it.
func (o Options) backdate() time.Duration { return min(24*time.Hour, o.RootValidity/10) }

// delays are how long a rotation waits for what it cannot observe.
func (o Options) delays() rotation.Delays {
	// An API server follows its own storage by a watch, within milliseconds when it is well.
	settle := min(10*time.Second, o.LeafValidity/10)
	return rotation.Delays{
		Overlap:      o.Overlap,
		Settle:       settle,
		ReplicaSync:  2*o.Interval + settle,
		LeafLifetime: o.LeafValidity + o.skew(),
	}
}

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil {
		return o, errors.New("selfsigned: Options.Client is nil")
	}
	text := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	span := func(field *time.Duration, value time.Duration) {
		if *field <= 0 {
			*field = value
		}
	}
	text(&o.Namespace, "fairlead-system")
	text(&o.Name, "fairlead-webhook-ca")
	text(&o.Service, "fairlead-webhook")
	span(&o.RootValidity, 10*365*24*time.Hour)
	span(&o.LeafValidity, 7*24*time.Hour)
	span(&o.Interval, min(time.Minute, o.LeafValidity/6))
	span(&o.Overlap, min(2*time.Minute, o.LeafValidity/3))
	span(&o.DeniedTimeout, 30*time.Second)
	if o.rootCurve == nil {
		o.rootCurve = elliptic.P384()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.LeafValidity > o.RootValidity/10 {
		return o, errors.New("selfsigned: Options.LeafValidity exceeds a tenth of RootValidity: certificates would outlive the root that signed them")
	}
	return o, nil
}

// names are the DNS names and IP addresses of the serving certificate.
func (o Options) names() []string {
	service := o.Service + "." + o.Namespace + ".svc"
	return append([]string{service, service + ".cluster.local"}, o.ExtraNames...)
}
