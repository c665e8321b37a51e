// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/controllers/storagemigration"
	"github.com/fairlead-dev/fairlead/internal/retry"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

// A replica serves webhooks, reconciles, or does both. These are the reasons that /statusz shows.
const (
	servedElsewhere     = "other replicas serve webhooks (webhook.enabled is false)"
	reconciledElsewhere = "other replicas reconcile (controllers.enabled is false)"
)

// withWebhooks adds what serves webhooks, and returns the readiness of a replica that does.
func (a *assembly) withWebhooks(p *parts, untyped dynamic.Interface) (ready func() error, err error) {
	source, err := newCertificates(a.config, a.identity, certificateClients{a.client, untyped}, a.recordEvent, a.Clock, a.Metrics, a.Logger)
	if err != nil {
		return nil, err
	}
	failures := conversion.NewFailureRecorder(ownKinds(), a.recordEvent)
	byPath := handlers(a.config, a.reviews(), failures.Record, a.Metrics, a.Logger)
	callers, err := callersOf(a.config, a.Metrics, a.Logger)
	if err != nil {
		return nil, err
	}
	webhook, err := webhookServer(a.config, a.identity, source, callers, byPath, a.Clock, a.Metrics, a.Logger)
	if err != nil {
		return nil, err
	}
	a.healthy = failures.Healthy
	p.prepare, p.refresh = source.Prepare, source.Run
	p.webhook, p.ready = webhook.Start, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, source.limit)
		defer cancel()
		return webhook.WaitReady(ctx)
	}
	if callers != nil {
		p.background = append(p.background, component{"authorities of the webhooks' clients", callers.Run})
	}
	a.certificate = source.Err
	a.recorder.SetInfo("certificate", func() string { return oneLine(source.Err()) })
	if source.injector != nil {
		p.publish, p.republish = source.publish, source.republish
		a.bundles = source.injector.Missing
		a.recorder.SetInfo("CA bundle", func() string { return oneLine(a.bundles()) })
	} else {
		p.skip[phases.CAPublished] = source.absent
	}
	a.recorder.SetInfo("webhooks", func() string { return oneLine(webhook.Ready()) })
	return webhook.Ready, nil
}

// withoutWebhooks is withWebhooks for a replica that only reconciles. It may wait for caches before it is
// ready: the webhooks that those may need are served by processes that do not wait for it.
func (a *assembly) withoutWebhooks(p *parts) (ready func() error) {
	for _, phase := range []phases.Phase{phases.Certificates, phases.WebhookServer, phases.CAPublished} {
		p.skip[phase] = servedElsewhere
	}
	a.healthy = (&storagemigration.WebhookHealth{Client: a.client, Namespace: a.identity.namespace, Service: a.config.Service.Name,
		Clock: a.Clock}).Check
	a.recorder.SetInfo("webhooks", func() string { return servedElsewhere })
	return func() error { return readyToLead(a.recorder.Status()) }
}

// withControllers adds what reconciles.
func (a *assembly) withControllers(p *parts, untyped dynamic.Interface) {
	p.controllers = a.controllers
	if a.config.HasClusterRole() {
		a.claim = &claim{
			definitions: untyped.Resource(definitionResource),
			own:         types.NamespacedName{Namespace: a.identity.namespace, Name: a.config.Service.Name},
			clock:       a.Clock, logger: a.Logger.WithName("claim"),
		}
		p.claim = a.claim.wait
	}
	p.warmup = a.config.Controllers.Warmup
}

// withoutControllers is withControllers for a replica that only serves webhooks.
func (a *assembly) withoutControllers(p *parts) {
	p.warningCache = a.runWarningCache
	p.skip[phases.Election], p.skip[phases.Reconcilers] = reconciledElsewhere, reconciledElsewhere
	a.recorder.SetInfo("leader", func() string { return reconciledElsewhere })
}

// readyToLead returns nil where a replica without webhooks could take over: the start has come to the election,
// so its caches are filled, unless warmup is off.
func readyToLead(status phases.Status) error {
	for _, row := range status.Phases {
		switch row.State {
		case phases.Done, phases.Skipped, phases.Late:
		case phases.Running:
			if row.Phase == phases.Election || row.Phase == phases.Reconcilers {
				return nil
			}
			return notReadyToLead(row)
		default:
			return notReadyToLead(row)
		}
	}
	return nil
}

func notReadyToLead(row phases.PhaseStatus) error {
	if row.Detail != "" {
		return fmt.Errorf("the start has not come to the election: %s is %s: %s", row.Phase, row.State, row.Detail)
	}
	return fmt.Errorf("the start has not come to the election: %s is %s", row.Phase, row.State)
}

// runWarningCache runs the cache that admission warns from on a replica without controllers: two kinds, at the
// version that is stored, so that nothing is converted for it. It begins when the webhooks are served, nothing
// waits for it, and a failure costs warnings alone: it is retried until ctx ends.
func (a *assembly) runWarningCache(ctx context.Context) error {
	filled := a.recorder.Begin(phases.Caches)
	err := retry.Until(ctx, retry.Policy{MinDelay: time.Second, MaxDelay: maxPause, AttemptTimeout: -1,
		OnRetry: func(err error, delay time.Duration) {
			a.Logger.Error(err, "writers are not warned of overlaps; retrying", "in", delay.String())
			a.recorder.Progress(phases.Caches, "writers are not warned of overlaps: %v", err)
		}}, func(ctx context.Context) error {
		defer a.warnings.DropCaches()
		if err := a.serveWarningCache(ctx, func() { filled(nil) }); err != nil || ctx.Err() != nil {
			return err
		}
		return errors.New("the cache has ended")
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// serveWarningCache runs one cache until ctx ends or it fails.
func (a *assembly) serveWarningCache(ctx context.Context, filled func()) error {
	made, err := a.newCluster(ctx, a.api.withoutLimit(), a.config.Namespaces, nil, nil)
	if err != nil {
		return err
	}
	defer a.undecodable.Clear()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runContained(ctx, component{"caches of admission", made.Start}) }()
	if err := a.syncWarningCache(ctx, made); err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	defer cancel()
	a.warnings.SetCaches(made.GetCache(), nil)
	filled()
	return <-ended
}

// syncWarningCache waits until the kinds that admission reads have synced.
func (a *assembly) syncWarningCache(ctx context.Context, from cluster.Cluster) error {
	return waitForInformers(ctx, from.GetCache(), a.scheme, admissionKinds(), a.config.Controllers.CacheSyncTimeout.Duration,
		func(kind string) { a.recorder.Progress(phases.Caches, "waiting for %s", kind) })
}
