// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
)

// Options of a Source. Only Client and Dynamic must be set.
type Options struct {
	// Client reads and writes Secrets, and Dynamic the objects of cert-manager. They should have a
	// rate limiter of their own.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	// Namespace is where everything is. Default: fairlead-system.
	Namespace string

	// Certificate is the name of the Certificate, and SecretName of the Secret that it fills.
	// Defaults: fairlead-webhook and fairlead-webhook-tls.
	Certificate, SecretName string

	// TrustSecretName is the name of the Secret that says who is trusted. Default: fairlead-webhook-trust.
	TrustSecretName string

	// IssuerName, IssuerKind and IssuerGroup say who signs. Without a name an authority is made. The
	// others default to Issuer and cert-manager.io.
	IssuerName, IssuerKind, IssuerGroup string

	// Service is the Service through which the API server reaches the webhooks. The certificate is
	// good for <service>.<namespace>.svc and <service>.<namespace>.svc.cluster.local.
	// Default: fairlead-webhook.
	Service string

	// ExtraNames are further DNS names and IP addresses of the certificate, such as localhost.
	ExtraNames []string

	// Validity is how long a certificate is valid that is asked for here; it is renewed after two
	// thirds of it. At least 1 hour, the least that cert-manager takes. Default: 7 days.
	Validity time.Duration

	// RootValidity is how long the authority is valid that is made here; it is replaced after two
	// thirds of it. At least ten times Validity. Default: 10 years.
	RootValidity time.Duration

	// Observe looks whether every target carries all of the bundle, and returns nil where it does, an
	// error that wraps certs.ErrNotCarried where it was seen not to, and any other where it could not
	// look. Defaults to nil: what cert-manager issues is served at once.
	Observe func(ctx context.Context, bundle []byte) error

	// Publish brings the bundle to every target, before Prepare returns, where an authority is trusted
	// beside that of the certificate: others serve already, and what is served here reaches all who
	// call. Defaults to nil: another component does it, and Prepare waits for that.
	Publish func(ctx context.Context, bundle []byte) error

	// FormerAuthorities returns the authorities, as PEM, under which replicas may serve that are configured for
	// another source. It is asked once, when the trust is first written. Default: there are none.
	FormerAuthorities func(ctx context.Context) []byte

	// Settle is how long after a new authority was observed everywhere its certificate is served:
	// the time in which API servers take note of what they have stored. Default: 5 seconds.
	Settle time.Duration

	// TrustTimeout is how long Prepare waits for that publication. Default: 20 seconds.
	TrustTimeout time.Duration

	// Interval is how often Run reads everything, beside watching the Secrets. Default: 1 minute.
	Interval time.Duration

	// PrepareTimeout is how long Prepare bears with what waiting seldom heals: a missing cert-manager, a
	// missing permission, a Certificate that is not ready. Default: 45 seconds.
	PrepareTimeout time.Duration

	// AttemptTimeout bounds one exchange with the API server. Default: 10 seconds.
	AttemptTimeout time.Duration

	// Fallback serves while cert-manager is not installed, and FormerValidity is how long the
	// certificates are valid that it or another source has signed. Defaults: a missing cert-manager is
	// an error, and Validity.
	Fallback       certs.Source
	FormerValidity time.Duration

	// OnChange is called after the bundle has changed; CABundle then returns the new one. It must
	// not block. Default: nothing is called.
	OnChange func()

	// Clock tells the time. Default: the real one.
	Clock clock.Clock

	// Log takes what happens. Default: nothing is logged.
	Log logr.Logger

	// Registerer publishes the metrics. Default: they are not published.
	Registerer prometheus.Registerer
}

const (
	// leastValidity is what cert-manager's own webhook takes for spec.duration at least.
	leastValidity = time.Hour

	// skew is how long after its expiry a certificate still counts, for clocks that are late.
	skew = 5 * time.Minute

	// retryInterval is how soon what is waited for is looked at once more.
	retryInterval = time.Second

	// fallbackInterval is how often cert-manager is looked for while the fallback serves.
	fallbackInterval = 10 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil || o.Dynamic == nil {
		return o, errors.New("certmanager: Options.Client or Dynamic is nil")
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
	text(&o.Certificate, "fairlead-webhook")
	text(&o.SecretName, "fairlead-webhook-tls")
	text(&o.TrustSecretName, "fairlead-webhook-trust")
	text(&o.IssuerKind, "Issuer")
	text(&o.IssuerGroup, group)
	text(&o.Service, "fairlead-webhook")
	span(&o.Validity, 7*24*time.Hour)
	span(&o.RootValidity, 10*365*24*time.Hour)
	span(&o.Settle, 5*time.Second)
	span(&o.TrustTimeout, 20*time.Second)
	span(&o.Interval, time.Minute)
	span(&o.PrepareTimeout, 45*time.Second)
	span(&o.AttemptTimeout, 10*time.Second)
	span(&o.FormerValidity, o.Validity)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Validity < leastValidity {
		return o, fmt.Errorf("certmanager: webhook.certificates.validity is %s, and cert-manager takes %s at least: set it to that or more, or have source selfSigned issue certificates that are shorter", o.Validity, leastValidity)
	}
	if o.RootValidity < 10*o.Validity {
		return o, errors.New("certmanager: Options.RootValidity is less than ten times Validity: certificates would outlive the root that signed them")
	}
	if o.SecretName == o.TrustSecretName || o.SecretName == o.rootName() {
		return o, fmt.Errorf("certmanager: webhook.certificates.certManager.secretName is %s, which the operator needs for who is trusted: choose another name", o.SecretName)
	}
	return o, nil
}

// serverName is the name by which the API server calls.
func (o Options) serverName() string { return o.Service + "." + o.Namespace + ".svc" }

// names are the DNS names and IP addresses that the certificate is asked for.
func (o Options) names() []string {
	return append([]string{o.serverName(), o.serverName() + ".cluster.local"}, o.ExtraNames...)
}
