// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// certificates is where the serving certificate comes from, and how its root is published.
type certificates struct {
	certs.Source
	injector *injection.Injector // nil: another component publishes the root
	limit    time.Duration       // for each phase of the start
	absent   string              // why there is nothing to publish
}

// certificateClients are what certificates need of the API server.
type certificateClients struct {
	kubernetes kubernetes.Interface
	dynamic    dynamic.Interface
}

func newCertificates(c *options.Configuration, where place, clients certificateClients, tell func(events.Notice), by clock.WithTicker, metrics prometheus.Registerer, logger logr.Logger) (*certificates, error) {
	all := &certificates{limit: c.ClientConnection.StartTimeout.Duration}
	// What waiting seldom heals gets less time than the phase, so that its own error is shown
	// and not that of the phase's end.
	patience := all.limit * 3 / 4
	onChange := func() {}
	wanted := c.Webhook.Certificates
	// A replica that does not write the bundle may still look where it has got to.
	observer, err := injection.New(injection.Options{
		Client: clients.dynamic, Patience: patience, Latest: all.latest, Interval: min(5*time.Minute, wanted.Validity.Duration),
		Lost: func(loss injection.Loss) { tell(lostBundle(loss)) },
		Log:  logger.WithName("ca-injection"), Registerer: metrics,
	})
	if err != nil {
		return nil, err
	}
	if wanted.InjectCA {
		all.injector = observer
		onChange = all.injector.Trigger
	} else {
		all.absent = "webhook.certificates.injectCA is false"
	}

	m := origins{c, where, clients, patience, onChange, logger.WithName("certificates"), by, metrics, observer}
	switch wanted.Source {
	case options.SourceFolder:
		all.Source, err = m.folder()
	case options.SourceCertManager:
		all.Source, err = m.certManager()
	default:
		all.Source, err = m.selfSigned()
	}
	return all, err
}

// lostBundle is the Event about an object that has lost the CA bundle.
func lostBundle(loss injection.Loss) events.Notice {
	return events.Notice{
		Regarding:     corev1.ObjectReference{APIVersion: loss.APIVersion, Kind: loss.Kind, Name: loss.Name, UID: loss.UID},
		ClusterScoped: true,
		Reason:        "CABundleLost", Action: "Inject", Note: loss.Note,
	}
}

// Prepare is that of the source, bounded.
func (c *certificates) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.Source.Prepare(ctx)
}

// publish puts the root where the API server looks for it. A source without a root of its own,
// such as a folder without ca.crt, leaves that to the component that filled the folder.
func (c *certificates) publish(ctx context.Context) error {
	bundle := c.CABundle()
	if bundle == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.injector.Publish(ctx, bundle)
}

func (c *certificates) republish(ctx context.Context) error {
	return c.injector.Run(ctx, c.CABundle)
}

// latest is the bundle as it stands where the source keeps it, for a source that can tell; nil means the
// one in use.
func (c *certificates) latest(ctx context.Context) ([]byte, error) {
	if origin, ok := c.Source.(interface {
		Latest(ctx context.Context) ([]byte, error)
	}); ok {
		return origin.Latest(ctx)
	}
	return nil, nil
}

// serverName is the name by which the API server calls the webhooks: that of their Service, or of a
// certificate in a folder that is not made for a Service, as in envtest.
func serverName(c *options.Configuration, where place) string {
	if names := c.Webhook.Certificates.DNSNames; c.Webhook.Certificates.Source == options.SourceFolder && len(names) > 0 {
		return names[0]
	}
	return c.Service.Name + "." + where.namespace + ".svc"
}
