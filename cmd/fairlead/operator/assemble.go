// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/lifecycle"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
	"github.com/fairlead-dev/fairlead/internal/memory"
	"github.com/fairlead-dev/fairlead/internal/metrics"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
	admitexternalservice "github.com/fairlead-dev/fairlead/webhooks/admission/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

// assembly is what the parts of the operator are made from.
type assembly struct {
	config   *options.Configuration
	kinds    kinds // those of the configuration
	leftOut  kinds // the others
	identity identity
	version  string
	api      *connection
	dial     func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	clock    clock.WithTicker
	offset   *clockOffset
	logger   logr.Logger
	level    *LogLevel
	traces   *traces
	metrics  prometheus.Registerer

	scheme        *runtime.Scheme
	client        kubernetes.Interface // without a limit
	untyped       dynamic.Interface    // the same
	recorder      *phases.Recorder
	warnings      *warnings.Reader
	egress        *egressStack
	leadershipLog *lifecycle.LeadershipLog
	check         func() error // nil where reconcilers may write; a nil check always allows it
	claim         *claim       // nil where this replica has no reconcilers, or no right to CRDs
	certificate   func() error // why the certificate that was last read is not served; nil without webhooks
	bundles       func() error // which objects lack the CA bundle; nil where another component writes it

	recordEvent func(events.Event)         // writes an Event
	undecodable *tolerantcache.Undecodable // what is stored and does not fit its type
}

// assemble lists what runs, in the order in which it starts: the servers of probes, metrics and profiles, the wait for the
// API server, what needs it alone, and the phases. It stops in the order of its stages, the last one first.
func (a *assembly) assemble() (*lifecycle.Lifecycle, error) {
	undecodable, err := a.share()
	if err != nil {
		return nil, err
	}
	drain, stop := a.config.Drain(), a.config.GracefulShutdownTimeout.Duration
	l := &lifecycle.Lifecycle{
		Reachable: a.apiServer().wait,
		Background: append([]lifecycle.Component{
			{Name: "ranges of the cluster", Run: a.egress.ranges.Run}, {Name: "memory", Run: memory.ReleaseWhenIdle(a.clock)}, undecodable,
		}, a.traces.component()...),
		Attempts: lifecycle.Attempts{Recorder: a.recorder, Pause: time.Second}, Logger: a.logger, StopTimeout: stop,
		// At least some seconds, also where the drain is allowed all the time there is.
		WorkTimeout: max(stop-drain, min(stop, 5*time.Second)),
	}
	serve, reconcile := a.servedElsewhere, a.reconciledElsewhere
	if a.config.Webhook.Enabled {
		serve = a.webhooks
	}
	if a.config.Controllers.Enabled {
		reconcile = a.controllers
	}
	ready, err := serve(l)
	if err != nil {
		return nil, err
	}
	if err := reconcile(l); err != nil {
		return nil, err
	}
	if l.Servers, err = a.servers(ready); err != nil {
		return nil, err
	}
	a.recorder.SetInfo("kinds", a.config.KindsText)
	a.recorder.SetInfo("API server", a.api.status)
	a.recorder.SetInfo("clock", a.offset.status)
	a.offset.report = a.reportOffset
	return l, nil
}

// webhooks adds the phases that serve webhooks, and returns the readiness of a replica that does.
func (a *assembly) webhooks(l *lifecycle.Lifecycle) (ready func() error, err error) {
	source, err := a.newCertificates()
	if err != nil {
		return nil, err
	}
	callers, err := a.newClientAuthorities()
	if err != nil {
		return nil, err
	}
	if callers != nil {
		l.Background = append(l.Background, lifecycle.Component{Name: "authorities of the webhooks' clients", Run: callers.Run})
	}
	failures := conversion.NewFailureRecorder(a.kinds.gvks(), a.recordEvent)
	server, err := a.newWebhookServer(source.source, callers, a.handlers(a.reviews(), failures.Record))
	if err != nil {
		return nil, err
	}
	ready = server.Ready
	publish := lifecycle.Phase{Name: phases.CAPublished, Skip: "webhook.certificates.injectCA is false"}
	if a.config.Webhook.Certificates.InjectCA {
		publish = lifecycle.Phase{
			Name: phases.CAPublished, Stage: lifecycle.CertificateStage,
			Start: lifecycle.Only("CA injection", source.republish), Ready: source.publish,
		}
		ready = func() error { return cmp.Or(server.Ready(), source.published()) }
		a.bundles = source.injector.Missing
		a.recorder.SetInfo("CA bundle", func() string { return oneLine(a.bundles()) })
	}
	l.Phases = append(l.Phases,
		lifecycle.Phase{
			Name: phases.Certificates, Stage: lifecycle.CertificateStage,
			Start: lifecycle.Only("certificates", source.refresh), Ready: source.prepare,
		},
		lifecycle.Phase{
			Name: phases.WebhookServer, Stage: lifecycle.WebhookStage,
			Start: lifecycle.Only("webhook server", func(ctx context.Context) error {
				a.egress.waitForRanges(ctx)
				return server.Start(ctx)
			}),
			Ready: func(ctx context.Context) error {
				a.egress.waitForRanges(ctx)
				ctx, cancel := context.WithTimeout(ctx, source.limit)
				defer cancel()
				return server.WaitReady(ctx)
			},
		},
		publish,
	)
	a.certificate = source.source.Err
	a.recorder.SetInfo("certificate", func() string { return oneLine(a.certificate()) })
	a.recorder.SetInfo("webhooks", func() string { return oneLine(ready()) })
	return ready, nil
}

// servedElsewhere is webhooks for a replica that only reconciles. It may wait for caches before it is
// ready: the webhooks that those may need are served by processes that do not wait for it.
func (a *assembly) servedElsewhere(l *lifecycle.Lifecycle) (ready func() error, err error) {
	const reason = "other replicas serve webhooks (webhook.enabled is false)"
	for _, name := range []phases.Phase{phases.Certificates, phases.WebhookServer, phases.CAPublished} {
		l.Phases = append(l.Phases, lifecycle.Phase{Name: name, Skip: reason})
	}
	a.recorder.SetInfo("webhooks", func() string { return reason })
	return func() error { return lifecycle.ReadyToLead(a.recorder.Status()) }, nil
}

// controllers adds the phases of the controllers.
func (a *assembly) controllers(l *lifecycle.Lifecycle) error {
	c := a.config.Controllers
	leader := &lifecycle.Leader{
		Attempts: l.Attempts, LeadershipLog: a.leadershipLog, Warmup: c.Warmup, Create: a.createControllers,
		Patience: min(a.config.ClientConnection.StartTimeout.Duration, c.CacheSyncTimeout.Duration),
	}
	if a.config.HasClusterRole() {
		a.claim = &claim{
			definitions: a.untyped.Resource(definitionResource), names: a.kinds.definitions(),
			own:   types.NamespacedName{Namespace: a.identity.namespace, Name: a.config.Service.Name},
			clock: a.clock, logger: a.logger.WithName("claim"), seen: map[string]types.NamespacedName{},
		}
		leader.Claim = a.claim.wait
	}
	if a.config.LeaderElection.LeaderElect {
		elector, err := a.elector(l.WorkTimeout)
		if err != nil {
			return err
		}
		leader.Elect, a.check = elector.Run, elector.Check
		a.recorder.SetInfo("leader", elector.Status)
		a.recorder.SetInfo("identity", func() string { return a.identity.id })
	}
	l.Phases = append(l.Phases,
		lifecycle.Phase{Name: phases.Caches, Stage: lifecycle.InformerStage, Start: leader.StartCaches, Ready: leader.CachesReady},
		lifecycle.Phase{Name: phases.Reconcilers, Stage: lifecycle.ReconcilerStage, Start: leader.StartReconcilers},
	)
	return nil
}

// reconciledElsewhere is controllers for a replica that only serves webhooks.
func (a *assembly) reconciledElsewhere(l *lifecycle.Lifecycle) error {
	const reason = "other replicas reconcile (controllers.enabled is false)"
	l.Phases = append(l.Phases,
		lifecycle.Phase{Name: phases.Caches, Stage: lifecycle.BackgroundStage, Start: lifecycle.Only("caches of admission", a.runWarningCache)},
		lifecycle.Phase{Name: phases.Election, Skip: reason},
		lifecycle.Phase{Name: phases.Reconcilers, Skip: reason},
	)
	a.recorder.SetInfo("leader", func() string { return reason })
	return nil
}

// share makes what the parts have in common, and returns what runs for the Events about undecodable objects.
func (a *assembly) share() (undecodable lifecycle.Component, err error) {
	a.recorder, err = phases.New(phases.Options{Logger: a.logger, Metrics: a.metrics, Version: a.version, OnLate: a.reportLate})
	if err != nil {
		return undecodable, err
	}
	if err := a.metrics.Register(panics.Metric()); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return undecodable, fmt.Errorf("metrics of panics: %w", err)
	}
	if err := a.metrics.Register(a.api.metrics); err != nil {
		return undecodable, fmt.Errorf("metrics of the connections to the API server: %w", err)
	}
	if a.scheme, err = NewScheme(); err != nil {
		return undecodable, err
	}
	unlimited := a.api.withoutLimit()
	if a.client, err = kubernetes.NewForConfig(unlimited); err != nil {
		return undecodable, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	if a.untyped, err = dynamic.NewForConfig(unlimited); err != nil {
		return undecodable, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	if a.egress, err = a.newEgress(unlimited); err != nil {
		return undecodable, err
	}
	a.warnings = warnings.NewReader(warnings.Options{Client: a.client, Logger: a.logger.WithName("admission")})
	return a.reportUndecodable()
}

// apiServer returns what waits for the API server.
func (a *assembly) apiServer() apiServerWait {
	return apiServerWait{
		client: a.client.Discovery().RESTClient(), server: a.api.rest.Host, origin: a.api.origin,
		limit: a.config.ClientConnection.StartTimeout.Duration, recorder: a.recorder, logger: a.logger,
	}
}

// reviews is what admission consults about writers.
func (a *assembly) reviews() reviews {
	unavailable := ""
	if !a.config.ClusterAccess {
		unavailable = "the operator has no access to the whole cluster: make a RebootPolicy in each namespace"
	}
	return reviews{
		unavailable: unavailable,
		workloads:   a.config.RebootPolicies.Kinds(),

		policy:   a.egress.policy,
		reviewer: authorization.NewReviewer(authorization.ReviewerOptions{Client: a.client, Local: !a.config.ClusterAccess}),
		services: admitexternalservice.NewServiceReader(a.client),
		warnings: a.warnings,
		finalize: a.config.ReconcilesEveryNamespace(),
	}
}

// degraded returns what is wrong that makes no replica unready; nil where nothing is.
func (a *assembly) degraded() error {
	errs := []error{a.recorder.LateError(), a.offset.err()}
	if a.certificate != nil {
		errs = append(errs, a.certificate())
	}
	if a.bundles != nil {
		errs = append(errs, a.bundles())
	}
	return errors.Join(errs...)
}

// lateReasons are the reasons of the Events about late phases: of one reason, one Event is written in ten minutes.
var lateReasons = map[phases.Phase]string{
	phases.Certificates: "CertificateUnavailable", phases.WebhookServer: "WebhooksUnavailable", phases.CAPublished: "CABundleNotPublished",
	phases.Caches: "CachesNotSynced", phases.Reconcilers: "NotReconciling",
}

// reportLate reports by an Event on the operator's Lease that the start goes on without a part of a phase.
func (a *assembly) reportLate(phase phases.Phase, part string, reason error) {
	what := string(phase)
	if part != "" {
		what += " (" + part + ")"
	}
	a.recordEvent(events.Event{
		Regarding: a.lease(), Reason: lateReasons[phase], Action: "Start",
		Note: "The start went on without " + what + ", which is attempted again: " + reason.Error(),
	})
}

// reportOffset reports by an Event on the operator's Lease that the clock is wrong, or the API server's.
func (a *assembly) reportOffset(message string) {
	a.recordEvent(events.Event{
		Regarding: a.lease(), Reason: "ClockSkewed", Action: "Compare",
		Note: a.identity.id + ": " + message + ". Restarts and chaos go by the clock of the API server meanwhile, and certificates by this one.",
	})
}

// servers are the listeners beside the webhook's.
func (a *assembly) servers(ready func() error) ([]lifecycle.Component, error) {
	var servers []httpServer
	if at := a.config.Health.BindAddress; at != options.Off {
		servers = append(servers, httpServer{
			name: "probe server", address: at, flag: "--health-probe-bind-address", handler: probes(ready, a.degraded, a.recorder),
		})
	}
	if a.config.Metrics.BindAddress != options.Off {
		api, err := a.api.separate(0)
		if err != nil {
			return nil, err
		}
		server, err := metricsServer(a.config, api, a.level, a.metrics, a.logger)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	if at := a.config.Profiling.BindAddress; at != "" && at != options.Off {
		servers = append(servers, httpServer{name: "pprof server", address: at, flag: "--pprof-bind-address", handler: profilesMux()})
	}
	evicted, err := metrics.Counter(a.metrics, "fairlead_evicted_connections_total",
		"Connections of the servers beside the webhook's that were closed for keeping them waiting while there was no room for another one.", "server")
	if err != nil {
		return nil, err
	}
	var run []lifecycle.Component
	for _, server := range servers {
		server.logger, server.evicted = a.logger, evicted.WithLabelValues(strings.TrimSuffix(server.name, " server"))
		run = append(run, server.component())
	}
	return run, nil
}

func (a *assembly) elector(drain time.Duration) (*leaderelection.Elector, error) {
	e := a.config.LeaderElection
	logger := a.logger.WithName("election")
	api, err := a.api.separate(e.RetryPeriod.Duration)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	elector := leaderelection.Options{
		Leases: client.CoordinationV1(), Namespace: a.identity.leaseNamespace, Name: e.ResourceName, Identity: a.identity.id,
		LeaseDuration: e.LeaseDuration.Duration, RenewDeadline: e.RenewDeadline.Duration, RetryPeriod: e.RetryPeriod.Duration,
		PollPeriod: e.RetryPeriod.Duration / 10, DrainTimeout: drain,
		Announce: leaderelection.Events(a.client.EventsV1(), a.identity.id, a.identity.pod, logger),
		Metrics:  a.metrics, Logger: logger,
	}
	if e.Mode == options.ElectionForLife {
		elector.PollPeriod = e.RetryPeriod.Duration / 2 // each is two reads, and no time has to be observed
		elector.Life = &leaderelection.Life{Pods: client.CoreV1(), Pod: a.identity.pod, UID: types.UID(os.Getenv("POD_UID"))}
	}
	return leaderelection.New(elector)
}

func oneLine(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ready"
}
