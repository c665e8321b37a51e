// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
)

// Targets is how to find out who is trusted, and to change it. The zero value has what is issued served at once.
type Targets struct {
	// Observe returns nil where every target has the whole bundle, an error that wraps
	// certs.ErrBundleMissing where a target lacks part of it, and certs.ErrTrustedNowhere too where all do that could
	// be read; any other error where a target could not be read. Defaults to nil: what is issued is served at once.
	Observe func(ctx context.Context, bundle []byte) error

	// Publish writes the bundle to every target. AwaitTrust calls it where other authorities are trusted too,
	// since other replicas serve already and clients may reach this one at once. Defaults to nil: another
	// component publishes, and AwaitTrust waits for that.
	Publish func(ctx context.Context, bundle []byte) error

	// FormerAuthorities returns, as PEM, the authorities of replicas that are configured for another
	// source. It is called when the Secret is created, and where a replica starts: then those count that Published
	// returns too. Defaults to nil.
	FormerAuthorities func(ctx context.Context) []byte

	// Published returns, as PEM, the authorities that targets trust now. It is called where a replica starts and the
	// Secret has none: other replicas may serve by one that no Secret has any more. Its error is retried. Defaults to nil.
	Published func(ctx context.Context) ([]byte, error)
}

// Options of a Holder.
type Options struct {
	// Source names what the certificates are read from, in errors.
	Source string

	// Secrets are those of Namespace, where the trusted authorities are kept. Defaults to nil: the authority of what is
	// served is published alone, since another component distributes the bundle.
	Secrets   corev1client.SecretInterface
	Namespace string

	// Validity is the validity of certificates that other sources sign. Defaults to 7 days.
	Validity time.Duration

	// Targets is how to find out who trusts what is served, and to change it.
	Targets

	// Fallback serves from UseFallback until the first certificate is served. Defaults to nil.
	Fallback certs.Source

	// OnChange is called after the bundle has changed; CABundle then returns the new one. It must not
	// block. Defaults to nil.
	OnChange func()

	// Metrics are those of the source. Required.
	Metrics *certs.Metrics

	// Clock defaults to the real clock.
	Clock clock.Clock

	// Log defaults to logr.Discard().
	Log logr.Logger
}

const (
	// settle is how long after a new authority was observed everywhere its certificate is served: the time
	// in which API servers read what is stored.
	settle = 5 * time.Second

	// trustTimeout is how long AwaitTrust waits until the targets have the bundle.
	trustTimeout = 20 * time.Second

	// attemptTimeout bounds one request to the API server.
	attemptTimeout = 10 * time.Second

	// skew is how long a certificate counts after its expiry. It tolerates two replicas whose clocks are each off by up to an
	// hour.
	skew = 2 * time.Hour

	// retryInterval is how soon targets are read again.
	retryInterval = time.Second

	// toldAfter is how long a certificate waits for its authority to be trusted before that is an error.
	toldAfter = time.Minute

	// lastMoment is how long before the served certificate expires the next one no longer waits.
	lastMoment = time.Minute
)

func (o Options) withDefaults() Options {
	if o.Validity <= 0 {
		o.Validity = 7 * 24 * time.Hour
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
