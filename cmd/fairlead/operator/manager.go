// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/fairlead-dev/fairlead/controllers/externalservice"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/notifications"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// reconcile is the half that reconciles: it creates a Manager, and runs it until ctx ends or the Lease is lost.
func (a *assembly) reconcile(ctx context.Context) error {
	b := &controllerBuilder{assembly: a, filled: make(chan struct{}), claimed: make(chan struct{})}
	b.cached = a.startup.begin(phaseCaches)
	if !a.startup.persist(ctx, attempt{phaseCaches, "", b.create}, attemptPause, func() {}) {
		return nil
	}
	if a.lock == nil {
		a.startup.skip("leader election is off", phaseElection)
	} else {
		if err := a.lock.FindPod(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	defer a.warnings.DropCaches()
	return b.manager.Start(ctx)
}

// create creates the Manager and adds what it runs. It sends requests to the API server, so that it may fail and be
// called again.
func (b *controllerBuilder) create(ctx context.Context) error {
	a := b.assembly
	a.egress.waitForRanges(ctx)
	open, closed, err := a.openNamespaces(ctx)
	if err != nil {
		return err
	}
	b.namespaces = open
	registry := prometheus.NewRegistry() // of this attempt
	if err := b.newManager(ctx, registry); err != nil {
		return err
	}
	if err := b.share(registry); err != nil {
		return err
	}
	b.reportLeftOut()

	runs := []runnable{
		{component{"caches", b.fill}, everywhere}, // it adds a controller for each kind
		{component{"term", b.lead}, leading},
		{component{"calendar", b.disruptions.freeze.Run}, leading},
		{component{"workloadkinds", b.workloadKinds.Run}, leading},
	}
	if a.lock != nil {
		runs = append(runs, runnable{component{"lease", a.lock.Watch}, leading})
	}
	if len(closed) > 0 {
		rights := func(ctx context.Context) error { return a.awaitRights(ctx, closed) }
		runs = append(runs, runnable{component{"rights", rights}, leading})
	}
	for _, one := range runs {
		if err := b.manager.Add(one); err != nil {
			return err
		}
	}
	if err := b.manager.Add(&aftermath{b.manager.GetCache(), b.record}); err != nil {
		return err
	}
	if err := a.metrics.Register(registry); err != nil {
		return fmt.Errorf("metrics of the controllers: %w", err)
	}
	return nil
}

// eventManager is a Manager that bounds the Events of its controllers. Those of controller-runtime are not bounded, and
// do not become series while the resource version of their object changes.
type eventManager struct {
	manager.Manager
	events        *events.Broadcaster
	notifications *notifications.Sender
}

// GetEventRecorder returns the recorder of a controller.
func (m *eventManager) GetEventRecorder(name string) recorder.EventRecorder {
	return m.events.Recorder(name)
}

// newManager creates a Manager without servers of its own. The operator's own servers start before it and stop after
// it.
func (b *controllerBuilder) newManager(ctx context.Context, registry prometheus.Registerer) error {
	a, api := b.assembly, b.assembly.controllersConfig()
	held := externalservice.Cache()
	maps.Copy(held, rebootpolicy.Cache(sourcesMode(a.config)))
	config, of, err := a.clusterOptions(ctx, api, b.namespaces, held)
	if err != nil {
		return err
	}
	e, poll := a.config.LeaderElection, a.pollPeriod()
	options := manager.Options{
		Scheme: of.Scheme, MapperProvider: of.MapperProvider, NewCache: of.NewCache, Cache: of.Cache, NewClient: of.NewClient, Client: of.Client,
		Logger: logr.New(lockLogs{a.logger.GetSink()}), Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: &a.workTimeout,
	}
	if a.lock != nil {
		options.LeaderElection, options.LeaderElectionResourceLockInterface, options.LeaderElectionReleaseOnCancel = true, a.lock, true
		options.LeaderElectionID = e.ResourceName
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &e.LeaseDuration.Duration, &e.RenewDeadline.Duration, &poll
	}
	made, err := manager.New(config, options)
	if err != nil {
		return err
	}
	writer, err := eventsv1client.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("%s: %w", a.api.origin, err)
	}
	broadcaster, err := events.NewBroadcaster(events.BroadcasterOptions{Client: writer, Scheme: a.scheme, Registerer: registry})
	if err != nil {
		return fmt.Errorf("events of the controllers: %w", err)
	}
	sender, err := notifications.New(notifications.Options{
		Receiver: a.config.Notifications.Endpoint(), Source: a.config.Notifications.Source, Types: a.config.Notifications.Types,
		Reasons: a.config.Notifications.Reasons, Logger: a.logger.WithName("notifications"), Registerer: registry,
	})
	if err != nil {
		return fmt.Errorf("notifications: %w", err)
	}
	broadcaster.Subscribe(sender.Enqueue)
	b.manager = &eventManager{made, broadcaster, sender}
	return nil
}

// lockLogs is the log of a Manager without the messages of its election. These would be two errors a second while the
// API server is away; the lock logs the first one.
type lockLogs struct{ logr.LogSink }

// WithName implements logr.LogSink.
func (l lockLogs) WithName(name string) logr.LogSink {
	if name == "leaderelection" {
		return logr.Discard().GetSink()
	}
	return l.LogSink.WithName(name)
}

// runnable is a component of the Manager. A panic in it becomes its error.
type runnable struct {
	component
	leader bool // whether only a leader runs it
}

const leading, everywhere = true, false

func (r runnable) Start(ctx context.Context) error { return contained(r.name, r.run)(ctx) }
func (r runnable) NeedLeaderElection() bool        { return r.leader }

// aftermath is a component that must outlive the last reconcile and end before the Lease is released. The Manager stops
// components with a cache at that point, so it has the method GetCache.
type aftermath struct {
	cache cache.Cache
	run   func(ctx context.Context) error
}

func (a *aftermath) GetCache() cache.Cache           { return a.cache }
func (a *aftermath) Start(ctx context.Context) error { return contained("events", a.run)(ctx) }

// record writes the Events of the controllers, sends notifications, and logs the end of the term.
func (b *controllerBuilder) record(ctx context.Context) error {
	sent := make(chan error, 1)
	go func() { sent <- panics.Try("notifications", func() error { return b.manager.notifications.Run(ctx) }) }()
	err := b.manager.events.Run(ctx)
	if b.led.Load() {
		b.assembly.leadershipLog.write(leadershipEntry{Event: eventUnlead})
	}
	return errors.Join(err, <-sent)
}

// lead begins the term once the caches are filled and no other installation reconciles. It ends the term when another
// installation does.
func (b *controllerBuilder) lead(ctx context.Context) error {
	return after(b.filled, func(ctx context.Context) error {
		a := b.assembly
		if b.elected != nil {
			b.elected()
		}
		done := a.startup.begin(phaseReconcilers)
		if !a.config.Controllers.Warmup {
			defer b.attempt(ctx, b.kinds(phaseReconcilers))()
		}
		late := func(err error) { a.startup.setLate(phaseReconcilers, "", err) }
		if a.claim != nil {
			if err := a.claim.wait(ctx, late); err != nil || ctx.Err() != nil {
				return err
			}
			late(nil)
		}
		a.leadershipLog.write(leadershipEntry{Event: eventLead})
		b.led.Store(true)
		close(b.claimed)
		done()
		if a.claim != nil {
			return a.claim.hold(ctx)
		}
		return untilDone(ctx)
	})(ctx)
}

// fill fills the caches that admission reads. It also fills those of the kinds, unless Warmup is off: these then wait
// for the election. After that, the election begins.
func (b *controllerBuilder) fill(ctx context.Context) error {
	a := b.assembly
	index := func(ctx context.Context) error {
		if !a.kinds.disrupt() {
			return nil
		}
		return rebootpolicy.Index(ctx, b.manager.GetFieldIndexer())
	}
	if !a.startup.persist(ctx, attempt{phaseCaches, "pods", index}, attemptPause, func() {}) {
		return nil
	}
	parts := []attempt{{phaseCaches, "warnings of admission", b.syncAdmission}}
	if a.config.Controllers.Warmup {
		parts = append(parts, b.kinds(phaseCaches)...)
	}
	defer b.attempt(ctx, parts)()
	if ctx.Err() != nil {
		return nil
	}
	b.cached()
	if a.lock != nil {
		b.elected = a.startup.begin(phaseElection)
	}
	close(b.filled)
	a.mayLead()
	return untilDone(ctx)
}

// attempt attempts the parts of a phase until they succeed. It returns after one attempt at each, and at the latest
// after the patience: it is better to lead some kinds than none. Call end to stop further attempts.
func (b *controllerBuilder) attempt(ctx context.Context, parts []attempt) (end func()) {
	startup, patience := b.assembly.startup, b.assembly.patience()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	impatient := time.After(patience)
	isLate := false
	attempted, done := make([]chan struct{}, len(parts)), make([]chan struct{}, len(parts))
	for i, part := range parts {
		attempted[i], done[i] = make(chan struct{}), make(chan struct{})
		first := sync.OnceFunc(func() { close(attempted[i]) })
		running.Go(func() {
			if startup.persist(ctx, part, attemptPause, first) {
				close(done[i])
			}
			first()
		})
	}
	for i, part := range parts {
		if !isLate {
			select {
			case <-attempted[i]:
			case <-ctx.Done():
			case <-impatient:
				isLate = true
			}
		}
		select {
		case <-attempted[i]:
			continue
		case <-ctx.Done():
			continue
		default:
		}
		startup.setLate(part.phase, part.part, fmt.Errorf("not done within %s", patience))
		select {
		case <-done[i]: // it succeeded while others were attempted
			startup.setLate(part.phase, part.part, nil)
		default:
		}
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// attemptPause is the wait after the first failed attempt.
const attemptPause = time.Second
