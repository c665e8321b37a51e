// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/leaderelection"
	"github.com/fairlead-dev/fairlead/internal/metrics"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/admission/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
)

// Options configure a Manager.
type Options struct {
	// Logger is the logger of all parts.
	Logger logr.Logger
	// Version is shown on /statusz and sent as part of the user agent.
	Version string
	// Metrics registers all metrics. Defaults to the registry of controller-runtime, which the metrics
	// server exposes.
	Metrics prometheus.Registerer
	// Dial connects to addresses outside the cluster that the egress policy allows. Defaults to the
	// network.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// Reconciles receives a line of JSON whenever this replica begins or ends to lead, or to reconcile an
	// object. Defaults to nil: none is written.
	Reconciles io.Writer
	// Silence is that of apitransport.Options.
	Silence time.Duration
	// Clock is what the validity of certificates is compared with. Leader election measures elapsed time
	// and needs none. Defaults to the real clock.
	Clock clock.WithTicker
}

// Manager is the operator, assembled.
type Manager struct{ lifecycle *lifecycle }

// Run runs the operator until ctx ends, and stops it in order. It returns nil after a requested stop,
// and leaderelection.ErrLost where the Lease was lost.
func (m *Manager) Run(ctx context.Context) error { return m.lifecycle.Run(ctx) }

// New assembles the operator from a validated configuration. It reads the kubeconfig and sends
// nothing.
func New(c *options.Configuration, o Options) (*Manager, error) {
	if o.Metrics == nil {
		o.Metrics = ctrlmetrics.Registry
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	self, err := newIdentity(c, os.Getenv, namespaceFile)
	if err != nil {
		return nil, err
	}
	api, err := connect(c.ClientConnection, "fairlead-manager/"+o.Version, o.Silence)
	if err != nil {
		return nil, err
	}
	offset, err := newClockOffset(o.Clock, o.Metrics, o.Logger.WithName("clock"))
	if err != nil {
		return nil, err
	}
	api.rest.Wrap(offset.wrap)
	LimitMemory(o.Logger) // before the components that take a share of it
	if c.Controllers.Enabled {
		limitGarbage()
	}
	a := &assembly{Options: o, config: c, identity: self, api: api, offset: offset,
		leadershipLog: newLeadershipLog(self.id, o.Reconciles, o.Logger)}
	l, err := a.assemble()
	if err != nil {
		return nil, err
	}
	return &Manager{lifecycle: l}, nil
}

// assembly is what the parts are made from.
type assembly struct {
	Options
	config        *options.Configuration
	identity      identity
	api           *connection
	offset        *clockOffset
	scheme        *runtime.Scheme
	client        kubernetes.Interface // without a limit
	recorder      *phases.Recorder
	warnings      *warnings.Reader
	egress        *egressStack
	leadershipLog *leadershipLog
	check         func() error                // nil where reconcilers may write; a nil check always allows it
	claim         *claim                      // nil where this replica has no reconcilers, or no right to CRDs
	certificate   func() error                // why the certificate that was last read is not served; nil without webhooks
	bundles       func() error                // which objects lack the CA bundle; nil where another component writes it
	healthy       func(context.Context) error // whether objects may be rewritten that may need a conversion

	recordEvent func(events.Event)         // writes an Event
	undecodable *tolerantcache.Undecodable // what is stored and does not fit its type
}

func (a *assembly) assemble() (*lifecycle, error) {
	var err error
	if a.recorder, err = phases.New(phases.Options{Logger: a.Logger, Metrics: a.Metrics, Version: a.Version,
		OnLate: a.reportLate}); err != nil {
		return nil, err
	}
	if err := a.Metrics.Register(panics.Metric()); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return nil, fmt.Errorf("metrics of panics: %w", err)
	}
	if err := a.Metrics.Register(a.api.metrics); err != nil {
		return nil, fmt.Errorf("metrics of the connections to the API server: %w", err)
	}
	if a.scheme, err = NewScheme(); err != nil {
		return nil, err
	}
	unlimited := a.api.withoutLimit()
	if a.client, err = kubernetes.NewForConfig(unlimited); err != nil {
		return nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	untyped, err := dynamic.NewForConfig(unlimited)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.api.origin, err)
	}
	if a.egress, err = newEgressStack(a.config, a.identity, unlimited, a.Dial, a.Logger, a.Metrics); err != nil {
		return nil, err
	}
	a.warnings = warnings.NewReader(warnings.Options{Client: a.client, Logger: a.Logger.WithName("admission")})

	p := parts{
		reachable: apiServerWait{
			client: a.client.Discovery().RESTClient(), server: a.api.rest.Host, origin: a.api.origin,
			limit: a.config.ClientConnection.StartTimeout.Duration, recorder: a.recorder, logger: a.Logger,
		}.wait,
		background:    []component{{"ranges of the cluster", a.egress.ranges.Run}, {"memory", returnMemory(a.Clock)}},
		waitForRanges: a.egress.waitForRanges,
		skip:          map[phases.Phase]string{},
	}
	if err := a.reportUndecodable(&p); err != nil {
		return nil, err
	}
	var ready func() error
	if a.config.Webhook.Enabled {
		if ready, err = a.withWebhooks(&p, untyped); err != nil {
			return nil, err
		}
	} else {
		ready = a.withoutWebhooks(&p)
	}
	if a.config.Controllers.Enabled {
		a.withControllers(&p, untyped)
	} else {
		a.withoutControllers(&p)
	}
	if p.servers, err = a.servers(ready); err != nil {
		return nil, err
	}
	drain := a.config.Drain()
	stop := a.config.GracefulShutdownTimeout.Duration
	l := &lifecycle{
		parts: p, recorder: a.recorder, logger: a.Logger, leadershipLog: a.leadershipLog, pause: time.Second, stopTimeout: stop,
		patience: min(a.config.ClientConnection.StartTimeout.Duration, a.config.Controllers.CacheSyncTimeout.Duration),
		// At least some seconds, also where the drain is allowed all the time there is.
		workTimeout: max(stop-drain, min(stop, 5*time.Second)),
	}
	if a.config.Controllers.Enabled && a.config.LeaderElection.LeaderElect {
		elector, err := a.elector(l.workTimeout)
		if err != nil {
			return nil, err
		}
		l.elect, l.observe, a.check = elector.Run, elector.Observe, elector.Check
		a.recorder.SetInfo("leader", elector.Status)
		a.recorder.SetInfo("identity", func() string { return a.identity.id })
	}
	a.recorder.SetInfo("API server", a.api.status)
	a.recorder.SetInfo("clock", a.offset.status)
	a.offset.report = a.reportOffset
	return l, nil
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
		Regarding: leaseOf(a.config, a.identity), Reason: lateReasons[phase], Action: "Start",
		Note: "The start went on without " + what + ", which is attempted again: " + reason.Error(),
	})
}

// reportOffset reports by an Event on the operator's Lease that the clock is wrong, or the API server's.
func (a *assembly) reportOffset(message string) {
	a.recordEvent(events.Event{
		Regarding: leaseOf(a.config, a.identity), Reason: "ClockSkewed", Action: "Compare",
		Note: a.identity.id + ": " + message + ". Restarts and chaos go by the clock of the API server meanwhile, and certificates by this one.",
	})
}

// reviews is what admission consults about writers.
func (a *assembly) reviews() reviews {
	return reviews{
		policy:   a.egress.policy,
		reviewer: authorization.NewReviewer(authorization.ReviewerOptions{Client: a.client, Local: !a.config.ClusterAccess}),
		services: externalservice.NewServiceReader(a.client),
		warnings: a.warnings,
	}
}

// servers are the listeners beside the webhook's.
func (a *assembly) servers(ready func() error) ([]component, error) {
	var servers []httpServer
	if at := a.config.Health.BindAddress; at != options.Off {
		servers = append(servers, httpServer{name: "probe server", address: at, flag: "--health-probe-bind-address",
			handler: probes(ready, a.degraded, a.recorder)})
	}
	if a.config.Metrics.BindAddress != options.Off {
		api, err := a.api.separate(0)
		if err != nil {
			return nil, err
		}
		server, err := metricsServer(a.config, api, a.Metrics, a.Logger)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	if at := a.config.Profiling.BindAddress; at != "" && at != options.Off {
		servers = append(servers, httpServer{name: "pprof server", address: at, flag: "--pprof-bind-address", handler: profilesMux()})
	}
	evicted, err := metrics.Counter(a.Metrics, "fairlead_evicted_connections_total",
		"Connections of the servers beside the webhook's that were closed for keeping them waiting while there was no room for another one.", "server")
	if err != nil {
		return nil, err
	}
	var run []component
	for _, server := range servers {
		server.logger, server.evicted = a.Logger, evicted.WithLabelValues(strings.TrimSuffix(server.name, " server"))
		run = append(run, server.component())
	}
	return run, nil
}

func (a *assembly) elector(drain time.Duration) (*leaderelection.Elector, error) {
	e := a.config.LeaderElection
	logger := a.Logger.WithName("election")
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
		DrainTimeout: drain,
		Announce:     leaderelection.Events(a.client.EventsV1(), a.identity.id, a.identity.pod, logger),
		Metrics:      a.Metrics, Logger: logger,
	}
	if e.Mode == options.ElectionForLife {
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
