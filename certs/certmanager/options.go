// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/trust"
)

// Options of a Source. Only Client and Dynamic must be set.
type Options struct {
	// Client reads and writes Secrets, and Dynamic the objects of cert-manager. They should have a rate
	// limiter of their own.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	// Namespace of all objects. Defaults to fairlead-system.
	Namespace string

	// Certificate is the name of the Certificate, and SecretName of the Secret that cert-manager writes for
	// it. Defaults to fairlead-webhook and fairlead-webhook-tls.
	Certificate, SecretName string

	// IssuerName, IssuerKind and IssuerGroup name the issuer. Without a name an authority is created. The
	// others default to Issuer and cert-manager.io.
	IssuerName, IssuerKind, IssuerGroup string

	// Service is the Service through which API servers reach the webhooks. The certificate is valid for
	// <service>.<namespace>.svc and <service>.<namespace>.svc.cluster.local. Defaults to fairlead-webhook.
	Service string

	// ExtraNames are further DNS names and IP addresses of the certificate, such as localhost.
	ExtraNames []string

	// Validity of the certificate that is requested; it is renewed after two thirds of it. At least 1 hour,
	// the minimum of cert-manager. Defaults to 7 days.
	Validity time.Duration

	// RootValidity of the authority that is created; it is replaced after two thirds of it. At least ten
	// times Validity. Defaults to 10 years.
	RootValidity time.Duration

	// Targets is how to find out who trusts what cert-manager issues, and to change it.
	trust.Targets

	// PrepareTimeout is how long Prepare retries errors that retrying seldom resolves: a missing
	// cert-manager, a missing permission, a Certificate that is not ready. Defaults to 45 seconds.
	PrepareTimeout time.Duration

	// Fallback serves while cert-manager is not installed, certificates of the same Validity. Defaults to
	// nil: a missing cert-manager is an error.
	Fallback certs.Source

	// OnChange is called after the bundle has changed; CABundle then returns the new one. It must not
	// block. Defaults to nil.
	OnChange func()

	// OnFailure is called with each new reason why what was read cannot be used, while the last good certificate stays
	// in use. It must not block. Defaults to nil.
	OnFailure func(error)

	// Clock defaults to the real clock.
	Clock clock.Clock

	// Log defaults to logr.Discard().
	Log logr.Logger

	// Registerer registers the metrics. Defaults to nil: they are not published.
	Registerer prometheus.Registerer
}

const (
	// interval is how often Run reads everything in addition to watching the Secrets.
	interval = time.Minute

	// attemptTimeout bounds one request to the API server.
	attemptTimeout = 10 * time.Second

	// leastValidity is the minimum of spec.duration in cert-manager.
	leastValidity = time.Hour

	// retryInterval is how soon a pending state is read again.
	retryInterval = time.Second

	// fallbackInterval is how often cert-manager is looked up while the fallback serves.
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
	text(&o.IssuerKind, "Issuer")
	text(&o.IssuerGroup, group)
	text(&o.Service, "fairlead-webhook")
	span(&o.Validity, 7*24*time.Hour)
	span(&o.RootValidity, 10*365*24*time.Hour)
	span(&o.PrepareTimeout, 45*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Validity < leastValidity {
		return o, fmt.Errorf("certmanager: webhook.certificates.validity is %s, and cert-manager takes %s at least: set it to that or more, or have source selfSigned issue certificates that are shorter", common.DurationOf(o.Validity), common.DurationOf(leastValidity))
	}
	if o.RootValidity < 10*o.Validity {
		return o, errors.New("certmanager: Options.RootValidity is less than ten times Validity: certificates would outlive the root that signed them")
	}
	if o.SecretName == trust.SecretName || o.SecretName == o.rootName() {
		return o, fmt.Errorf("certmanager: webhook.certificates.certManager.secretName is %s, which the operator keeps the trusted authorities in: choose another name", o.SecretName)
	}
	return o, nil
}

// serverName is the name that API servers connect to.
func (o Options) serverName() string { return o.Service + "." + o.Namespace + ".svc" }

// secret names the Certificate's Secret in errors.
func (o Options) secret() string { return "secret " + o.Namespace + "/" + o.SecretName }

// names are the DNS names and IP addresses that are requested.
func (o Options) names() []string {
	return append([]string{o.serverName(), o.serverName() + ".cluster.local"}, o.ExtraNames...)
}
