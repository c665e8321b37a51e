// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"

	"k8s.io/client-go/dynamic"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// A replica does both, or leaves one to others. These are the reasons that /statusz shows.
const (
	servedElsewhere     = "other replicas serve webhooks (webhook.enabled is false)"
	reconciledElsewhere = "other replicas reconcile (controllers.enabled is false)"
)

// serve adds what serves webhooks, and returns what a replica that does is ready by.
func (a *assembly) serve(p *parts, untyped dynamic.Interface) (ready func() error, err error) {
	source, err := newCertificates(a.config, a.place, certificateClients{a.client, untyped}, a.tell, a.Clock, a.Metrics, a.Logger)
	if err != nil {
		return nil, err
	}
	byPath := handlers(a.config.Webhook, a.authorization(), a.overlaps, a.conversions.Failed, a.Metrics, a.Logger)
	callers, err := callersOf(a.config, a.Metrics, a.Logger)
	if err != nil {
		return nil, err
	}
	webhook, err := webhookServer(a.config, a.place, source, callers, byPath, a.Clock, a.Metrics, a.Logger)
	if err != nil {
		return nil, err
	}
	a.healthy = a.conversions.healthy
	p.prepare, p.refresh = source.Prepare, source.Run
	p.webhook, p.ready = webhook.Start, webhook.WaitReady
	if callers != nil {
		p.follow = append(p.follow, named{"authorities of the webhooks' clients", callers.Run})
	}
	if source.injector != nil {
		p.publish, p.republish = source.publish, source.republish
		a.degraded = source.injector.Missing
		a.recorder.Tell("CA bundle", func() string { return oneLine(a.degraded()) })
	} else {
		p.skip[phases.CAPublished] = source.absent
	}
	a.recorder.Tell("webhooks", func() string { return oneLine(webhook.Ready()) })
	return webhook.Ready, nil
}

// serveElsewhere is serve for a replica that only reconciles. What it waits for before it is ready
// does not wait for it: webhooks start in processes that need no reconciler.
func (a *assembly) serveElsewhere(p *parts) (ready func() error) {
	for _, phase := range []phases.Phase{phases.Certificates, phases.WebhookServer, phases.CAPublished} {
		p.skip[phase] = servedElsewhere
	}
	a.healthy = (&endpoints{client: a.client, namespace: a.place.namespace, service: a.config.Service.Name, clock: a.Clock}).healthy
	a.recorder.Tell("webhooks", func() string { return servedElsewhere })
	return func() error { return standing(a.recorder.Status()) }
}

// reconcile adds what is made for each term.
func (a *assembly) reconcile(p *parts) error {
	a.metrics = &exchange{}
	if err := a.Metrics.Register(a.metrics); err != nil {
		return fmt.Errorf("metrics of reconcilers: %w", err)
	}
	p.term = a.term
	p.warmup = a.config.Controllers.Warmup
	p.demote = a.config.LeaderElection.OnLost == options.LostDemote
	return nil
}

// reconcileElsewhere is reconcile for a replica that only serves webhooks.
func (a *assembly) reconcileElsewhere(p *parts) {
	p.onlook = a.onlook
	p.skip[phases.Election], p.skip[phases.Reconcilers] = reconciledElsewhere, reconciledElsewhere
	a.recorder.Tell("leader", func() string { return reconciledElsewhere })
}

// standing is nil where a replica without webhooks could take over: the start has come to the election,
// so its caches are filled, unless warmup is off. One that was demoted fills new ones first.
func standing(status phases.Status) error {
	for _, row := range status.Phases {
		switch row.State {
		case phases.Done, phases.Skipped:
		case phases.Running:
			if row.Phase == phases.Election || row.Phase == phases.Reconcilers {
				return nil
			}
			return notStanding(row)
		default:
			return notStanding(row)
		}
	}
	return nil
}

func notStanding(row phases.PhaseStatus) error {
	if row.Detail != "" {
		return fmt.Errorf("the start has not come to the election: %s is %s: %s", row.Phase, row.State, row.Detail)
	}
	return fmt.Errorf("the start has not come to the election: %s is %s", row.Phase, row.State)
}
