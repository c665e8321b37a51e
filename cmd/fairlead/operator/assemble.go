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

// assembly holds what several parts of the operator need: settings, clients, and the functions by which the parts
// report their state.
type assembly struct {
	config   *options.Configuration
	kinds    kinds // the kinds that the configuration enables
	leftOut  kinds // the kinds that it leaves out
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
	client        kubernetes.Interface // without a rate limit
	untyped       dynamic.Interface    // without a rate limit
	startup       *startup
	warnings      *warnings.Reader
	egress        *egressStack
	leadershipLog *leadershipLog
	lock          *leaderelection.Lock // nil without an election
	mayLead       func()               // lets this replica take part in the election
	workTimeout   time.Duration        // how long the reconcilers may take to stop
	claim         *claim               // nil where this replica has no reconcilers, or no right to CRDs
	certificate   func() error         // returns why the last certificate is not served; nil without webhooks
	bundles       func() error         // returns which objects lack the CA bundle; nil if another component writes it

	recordEvent func(events.Event)         // writes an Event
	undecodable *tolerantcache.Undecodable // the stored objects that do not fit their types
}

// assemble lists what runs: the servers of probes, metrics and profiles, the components that need only the API server,
// and the two halves.
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

// webhooks returns the half that serves webhooks, and a function that returns why it is not ready.
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

// share creates what several parts use. It returns the component that writes the Events about undecodable objects.
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

// apiServer returns the settings of the wait for the API server.
func (a *assembly) apiServer() apiServerWait {
	return apiServerWait{
		client: a.client.Discovery().RESTClient(), server: a.api.rest.Host, origin: a.api.origin,
		limit: a.config.ClientConnection.StartTimeout.Duration, startup: a.startup, logger: a.logger,
	}
}

// reviews returns what the admission of each kind uses to decide what a writer may do.
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
		services: admitexternalservice.NewServiceReader(a.client), isolation: admitexternalservice.NewIsolationReader(a.client),
		warnings: a.warnings,
		finalize: a.config.ReconcilesEveryNamespace(),
	}
}

// degraded returns the problems that do not make the replica unready; nil if there are none.
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

// lateReasons are the reasons of the Events about late phases. For each reason, at most one Event is written in ten
// minutes.
var lateReasons = map[string]string{
	phaseCertificates: common.EventCertificateUnavailable, phaseWebhookServer: common.EventWebhooksUnavailable,
	phaseCAPublished: common.EventCABundleNotPublished,
	phaseCaches:      common.EventCachesNotSynced, phaseReconcilers: common.EventNotReconciling,
}

// reportLate writes an Event on the operator's Lease that the start continues without a part of a phase.
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

// reportOffset writes an Event on the operator's Lease that this clock and that of the API server differ.
func (a *assembly) reportOffset(message string) {
	a.recordEvent(events.Event{
		Regarding: a.lease(), Reason: common.EventClockSkewed, Action: "Compare",
		Note: a.identity.id + ": " + message + ". Restarts and chaos go by the clock of the API server meanwhile, and certificates by this one.",
	})
}

// servers returns the servers other than that of the webhooks.
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

// elect creates the lock of the Manager's election, if there is an election. Candidates read the Lease more often than
// a leader renews it.
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

// pollPeriod returns how often a candidate reads the Lease. In the mode for life it reads the leader's Pod as well, and
// may read less often: no lease duration is observed.
func (a *assembly) pollPeriod() time.Duration {
	e := a.config.LeaderElection
	if e.Mode == options.ElectionForLife {
		return e.RetryPeriod.Duration / 2
	}
	return e.RetryPeriod.Duration / 10
}

// patience returns how long the election waits for the caches.
func (a *assembly) patience() time.Duration {
	return min(a.config.ClientConnection.StartTimeout.Duration, a.config.Controllers.CacheSyncTimeout.Duration)
}

func oneLine(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ready"
}
