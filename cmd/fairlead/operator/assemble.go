// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/api/common"
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
	startup       *startup
	warnings      *warnings.Reader
	egress        *egressStack
	leadershipLog *leadershipLog
	lock          *leaderelection.Lock // nil without an election
	mayLead       func()               // lets this replica take part in it
	workTimeout   time.Duration        // for the end of the reconcilers
	claim         *claim               // nil where this replica has no reconcilers, or no right to CRDs
	certificate   func() error         // why the certificate that was last read is not served; nil without webhooks
	bundles       func() error         // which objects lack the CA bundle; nil where another component writes it

	recordEvent func(events.Event)         // writes an Event
	undecodable *tolerantcache.Undecodable // what is stored and does not fit its type
}

// assemble lists what runs: servers of probes, metrics and profiles, what needs the API server alone, and the two halves.
func (a *assembly) assemble() (*Operator, error) {
	undecodable, err := a.share()
	if err != nil {
		return nil, err
	}
	stop := a.config.GracefulShutdownTimeout.Duration
	a.workTimeout = max(stop-a.config.Drain(), min(stop, 5*time.Second)) // some seconds, also where the drain has all the time there is
	o := &Operator{
		reachable: a.apiServer().wait,
		background: append([]component{
			{"ranges of the cluster", a.egress.ranges.Run}, {"memory", memory.ReleaseWhenIdle(a.clock)}, undecodable,
		}, a.traces.component()...),
		startup: a.startup, pause: attemptPause, stopTimeout: stop, workTimeout: a.workTimeout, logger: a.logger,
	}
	ready := a.startup.leadable
	if a.config.Webhook.Enabled {
		if o.serve, ready, err = a.webhooks(); err != nil {
			return nil, err
		}
	} else {
		const reason = "other replicas serve webhooks (webhook.enabled is false)"
		a.startup.skip(reason, phaseCertificates, phaseWebhookServer, phaseCAPublished)
		a.startup.setInfo("webhooks", func() string { return reason })
	}
	if a.config.Controllers.Enabled {
		if err := a.elect(); err != nil {
			return nil, err
		}
		o.reconcile = component{"manager", a.reconcile}
		if a.lock != nil {
			o.background = append(o.background, component{"announcements of leaders", func(ctx context.Context) error {
				<-ctx.Done()
				a.lock.Wait()
				return nil
			}})
		}
	} else {
		const reason = "other replicas reconcile (controllers.enabled is false)"
		a.startup.skip(reason, phaseElection, phaseReconcilers)
		a.startup.setInfo("leader", func() string { return reason })
		o.reconcile = component{"caches of admission", a.runWarningCache}
	}
	if o.servers, err = a.servers(ready); err != nil {
		return nil, err
	}
	a.startup.setInfo("kinds", a.config.KindsText)
	a.startup.setInfo("API server", a.api.status)
	a.startup.setInfo("clock", a.offset.status)
	a.offset.report = a.reportOffset
	return o, nil
}

// webhooks returns the half that serves webhooks, and its readiness.
func (a *assembly) webhooks() (serve serving, ready func() error, err error) {
	source, err := a.newCertificates()
	if err != nil {
		return serve, nil, err
	}
	callers, err := a.newClientAuthorities()
	if err != nil {
		return serve, nil, err
	}
	failures := conversion.NewFailureRecorder(a.kinds.gvks(), a.recordEvent)
	server, err := a.newWebhookServer(source.source, callers, a.handlers(a.reviews(), failures.Record))
	if err != nil {
		return serve, nil, err
	}
	serve = serving{
		certificates: []component{{"certificates", source.refresh}},
		server: []component{{"webhook server", after(source.prepared, func(ctx context.Context) error {
			a.egress.waitForRanges(ctx)
			return server.Start(ctx)
		})}},
		phases: []attempt{
			{phaseCertificates, "", source.prepare},
			{phaseWebhookServer, "", func(ctx context.Context) error {
				a.egress.waitForRanges(ctx)
				ctx, cancel := context.WithTimeout(ctx, source.limit)
				defer cancel()
				return server.WaitReady(ctx)
			}},
		},
	}
	if callers != nil {
		serve.certificates = append(serve.certificates, component{"authorities of the webhooks' clients", callers.Run})
	}
	ready = server.Ready
	if a.config.Webhook.Certificates.InjectCA {
		serve.certificates = append(serve.certificates, component{"CA injection", source.republish})
		serve.phases = append(serve.phases, attempt{phaseCAPublished, "", source.publish})
		ready = func() error { return cmp.Or(server.Ready(), source.published()) }
		a.bundles = source.injector.Missing
		a.startup.setInfo("CA bundle", func() string { return oneLine(a.bundles()) })
	} else {
		a.startup.skip("webhook.certificates.injectCA is false", phaseCAPublished)
	}
	a.certificate = source.source.Err
	a.startup.setInfo("certificate", func() string { return oneLine(a.certificate()) })
	a.startup.setInfo("webhooks", func() string { return oneLine(ready()) })
	return serve, ready, nil
}

// share makes what the parts have in common, and returns what runs for the Events about undecodable objects.
func (a *assembly) share() (undecodable component, err error) {
	if a.startup, err = newStartup(a); err != nil {
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
		limit: a.config.ClientConnection.StartTimeout.Duration, startup: a.startup, logger: a.logger,
	}
}

// reviews is what admission consults about writers.
func (a *assembly) reviews() reviews {
	unavailable := ""
	if !a.config.ClusterAccess {
		unavailable = "the operator has no access to the whole cluster: make a RebootPolicy in each namespace"
	}
	var pods corev1client.PodsGetter
	if a.config.Controllers.Enabled && a.config.HasCanaries() {
		pods = a.client.CoreV1()
	}
	return reviews{
		pods:        pods,
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
	errs := []error{a.startup.err(), a.offset.err()}
	if a.certificate != nil {
		errs = append(errs, a.certificate())
	}
	if a.bundles != nil {
		errs = append(errs, a.bundles())
	}
	return errors.Join(errs...)
}

// lateReasons are the reasons of the Events about late phases: of one reason, one Event is written in ten minutes.
var lateReasons = map[string]string{
	phaseCertificates: common.EventCertificateUnavailable, phaseWebhookServer: common.EventWebhooksUnavailable, phaseCAPublished: common.EventCABundleNotPublished,
	phaseCaches: common.EventCachesNotSynced, phaseReconcilers: common.EventNotReconciling,
}

// reportLate reports by an Event on the operator's Lease that the start goes on without a part of a phase.
func (a *assembly) reportLate(phase, part string, reason error) {
	what := phase
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
		Regarding: a.lease(), Reason: common.EventClockSkewed, Action: "Compare",
		Note: a.identity.id + ": " + message + ". Restarts and chaos go by the clock of the API server meanwhile, and certificates by this one.",
	})
}

// servers are the listeners beside the webhook's.
func (a *assembly) servers(ready func() error) (all []component, err error) {
	evicted, err := metrics.Counter(a.metrics, "fairlead_evicted_connections_total",
		"Connections of the servers of probes and profiles that were closed for keeping them waiting while there was no room for another one.", "server")
	if err != nil {
		return nil, err
	}
	add := func(name, address, flag string, handler http.Handler) {
		if address != "" && address != options.Off {
			server := httpServer{name + " server", address, flag, handler, a.logger, evicted.WithLabelValues(name)}
			all = append(all, component{server.name, server.run})
		}
	}
	add("probe", a.config.Health.BindAddress, "--health-probe-bind-address", probes(ready, a.degraded, a.startup))
	if a.config.Metrics.BindAddress != options.Off {
		api, err := a.api.separate(0)
		if err != nil {
			return nil, err
		}
		server, err := metricsServer(a.config, api, a.level)
		if err != nil {
			return nil, err
		}
		all = append(all, server)
	}
	add("pprof", a.config.Profiling.BindAddress, "--pprof-bind-address", profilesMux())
	return all, nil
}

// elect makes the lock of the Manager's election, where there is one. Candidates read the Lease more often than a leader renews it.
func (a *assembly) elect() error {
	if a.config.HasClusterRole() {
		a.claim = &claim{
			definitions: a.untyped.Resource(definitionResource), names: a.kinds.definitions(),
			own:   types.NamespacedName{Namespace: a.identity.namespace, Name: a.config.Service.Name},
			clock: a.clock, logger: a.logger.WithName("claim"), seen: map[string]types.NamespacedName{},
		}
	}
	e, logger := a.config.LeaderElection, a.logger.WithName("election")
	a.mayLead = func() {}
	if !e.LeaderElect {
		return nil
	}
	api, err := a.api.separate(e.RetryPeriod.Duration)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("%s: %w", a.api.origin, err)
	}
	mayLead := make(chan struct{})
	o := leaderelection.Options{
		Leases: client.CoordinationV1(), Namespace: a.identity.leaseNamespace, Name: e.ResourceName, Identity: a.identity.id,
		LeaseDuration: e.LeaseDuration.Duration, RenewDeadline: e.RenewDeadline.Duration, RetryPeriod: e.RetryPeriod.Duration,
		PollPeriod: a.pollPeriod(), Ready: mayLead,
		Announce: leaderelection.Events(a.client.EventsV1(), a.identity.id, a.identity.pod, logger),
		Metrics:  a.metrics, Logger: logger,
	}
	if e.Mode == options.ElectionForLife {
		o.Life = &leaderelection.Life{Pods: client.CoreV1(), Pod: a.identity.pod, UID: types.UID(os.Getenv("POD_UID"))}
	}
	a.mayLead = func() { close(mayLead) }
	a.lock, err = leaderelection.NewLock(o)
	if err != nil {
		return err
	}
	a.startup.setInfo("leader", a.lock.Status)
	a.startup.setInfo("identity", func() string { return a.identity.id })
	return nil
}

// pollPeriod is how often a candidate reads the Lease. One for life is read with a Pod, and no time has to be observed.
func (a *assembly) pollPeriod() time.Duration {
	e := a.config.LeaderElection
	if e.Mode == options.ElectionForLife {
		return e.RetryPeriod.Duration / 2
	}
	return e.RetryPeriod.Duration / 10
}

// patience is how long the election waits for caches.
func (a *assembly) patience() time.Duration {
	return min(a.config.ClientConnection.StartTimeout.Duration, a.config.Controllers.CacheSyncTimeout.Duration)
}

func oneLine(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ready"
}
