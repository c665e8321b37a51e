// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/objectwatch"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// retry is the wait after a read or a watch that failed.
	retry = 5 * time.Second
	// readInterval is how often the ConfigMap is read without a watch event.
	readInterval = 10 * time.Minute
	// readTimeout bounds one read.
	readTimeout = 10 * time.Second
	// absenceTimeout is how long every read must return NotFound until a ConfigMap that was read before counts as deleted. It applies
	// if no watch has shown the deletion.
	absenceTimeout = 2 * time.Minute
)

// Options of a Freeze.
type Options struct {
	// Configured are blackouts that always hold. Defaults to none.
	Configured []cron.Blackout
	// ConfigMaps is the client for the operator's namespace, and Name is the ConfigMap to follow. Without a name, none is followed.
	ConfigMaps typedcorev1.ConfigMapInterface
	Name       string
	// OnUnreadable is called with the cause when the ConfigMap cannot be read, unless it is known not to exist. It must not block.
	// Defaults to nil: it is not called.
	OnUnreadable func(cause string)
	// Logger logs when the ConfigMap becomes unreadable and readable. Defaults to the zero Logger, which logs nothing.
	Logger logr.Logger
	// Registerer registers the metrics. Defaults to nil: they are not registered.
	Registerer prometheus.Registerer
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Freeze holds the blackouts of the whole cluster, in which no controller disrupts a workload. A nil Freeze has none.
type Freeze struct {
	options   Options
	started   time.Time     // by New; its monotonic clock measures absenceTimeout
	attempted chan struct{} // closed after the first read of the ConfigMap, even if it failed

	mu          sync.Mutex // guards the fields below
	state       State
	text        string // the content of the ConfigMap that state was parsed from
	cause       string // why the latest read failed; empty if it succeeded
	absence     absence
	subscribers []func()
}

// New returns a Freeze with the configured blackouts. Run adds those of the ConfigMap.
func New(o Options) (*Freeze, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	configured, err := cron.NewBlackouts(o.Configured)
	if err != nil {
		return nil, err
	}
	f := &Freeze{options: o, started: time.Now(), attempted: make(chan struct{}), state: State{Blackouts: configured}}
	if o.Name == "" {
		close(f.attempted)
	} else {
		f.state.Unknown = "ConfigMap " + o.Name + " was not read yet"
	}
	if o.Registerer != nil {
		for _, metric := range f.metrics() {
			if err := o.Registerer.Register(metric); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

func (f *Freeze) metrics() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_calendar_readable",
			Help: "Whether the ConfigMap with the blackouts of the cluster could be read: 1, also where there is none; otherwise 0.",
		}, func() float64 {
			f.mu.Lock()
			defer f.mu.Unlock()
			return boolToFloat(f.cause == "" && f.state.Unknown == "")
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_calendar_blackout",
			Help: "1 while a blackout of the cluster holds or the blackouts cannot be read; otherwise 0.",
		}, func() float64 { return boolToFloat(f.State().Message(f.options.Now()) != "") }),
	}
}

func boolToFloat(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// State returns the blackouts that are known now.
func (f *Freeze) State() State {
	if f == nil {
		return State{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Subscribe calls wake after every change of State. It does not call it when a blackout begins or ends as time passes. Wake must not
// block.
func (f *Freeze) Subscribe(wake func()) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, wake)
}

// Wait returns after the first read of the ConfigMap, even if it failed, or when ctx ends.
func (f *Freeze) Wait(ctx context.Context) {
	if f == nil {
		return
	}
	select {
	case <-f.attempted:
	case <-ctx.Done():
	}
}

// Run follows the ConfigMap until ctx ends, and returns nil.
func (f *Freeze) Run(ctx context.Context) error {
	if f.options.Name == "" {
		<-ctx.Done()
		return nil
	}
	changed := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			if err := panics.Try("calendar", func() error { return f.watch(ctx, changed) }); err != nil {
				f.options.Logger.V(1).Info("The ConfigMap with the cluster's blackouts is not watched", "configMap", f.options.Name, "cause", err.Error())
			}
			waitFor(ctx, nil, retry)
			objectwatch.Signal(changed) // while the watch fails, the ConfigMap is read after each retry
		}
	})
	defer watching.Wait()
	for ctx.Err() == nil {
		wait := readInterval
		if err := panics.Try("calendar", func() error { return f.read(ctx) }); err != nil && ctx.Err() == nil {
			f.setUnreadable(err)
			wait = retry
		}
		waitFor(ctx, changed, wait)
	}
	return nil
}

// waitFor waits until changed receives a signal, the wait is over, or ctx ends.
func waitFor(ctx context.Context, changed <-chan struct{}, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}

func (f *Freeze) watch(ctx context.Context, changed chan<- struct{}) error {
	observe := func(event watch.Event) {
		f.mu.Lock()
		f.absence.observe(event)
		f.mu.Unlock()
		objectwatch.Signal(changed)
	}
	defer observe(watch.Event{})
	return objectwatch.Follow(ctx, f.options.ConfigMaps, f.options.Name, observe)
}

// read reads the ConfigMap and sets the state from it. A ConfigMap that is known not to exist counts as empty.
func (f *Freeze) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	declared, err := f.options.ConfigMaps.Get(ctx, f.options.Name, metav1.GetOptions{})
	f.mu.Lock()
	declared, err = f.absence.confirm(declared, err, f.options.Name, time.Since(f.started))
	f.mu.Unlock()
	if err != nil {
		return err
	}
	more, err := Blackouts(declared)
	if err != nil {
		return err
	}
	own, err := cron.NewBlackouts(more)
	if err != nil {
		return fmt.Errorf("data.%s: %w", Key, err)
	}
	configured, err := cron.NewBlackouts(f.options.Configured)
	if err != nil {
		return err
	}
	f.mu.Lock()
	if f.cause != "" {
		f.options.Logger.Info("The ConfigMap with the cluster's blackouts can be read again", "configMap", f.options.Name)
	}
	f.cause = ""
	f.mu.Unlock()
	f.set(State{Blackouts: configured.And(own)}, declared.Data[Key])
	return nil
}

// setUnreadable keeps the blackouts that were read last, and reports that they may be outdated. If there are none, or the watch has
// shown a newer ConfigMap, the state becomes Unknown.
func (f *Freeze) setUnreadable(err error) {
	cause := err.Error()
	f.mu.Lock()
	news := f.cause != cause
	f.cause = cause
	state, text, changed := f.state, f.text, f.absence.unread != ""
	f.mu.Unlock()
	if news {
		f.options.Logger.Error(err, "The ConfigMap with the cluster's blackouts cannot be read: those that were read last stay in force", "configMap", f.options.Name, "known", state.Unknown == "")
		if f.options.OnUnreadable != nil {
			f.options.OnUnreadable(cause)
		}
	}
	if state.Unknown != "" || changed {
		state.Unknown = "ConfigMap " + f.options.Name + " cannot be read: " + cause
	}
	f.set(state, text)
}

// set stores a state and the text that it was parsed from, and calls the subscribers if either has changed.
func (f *Freeze) set(state State, text string) {
	f.mu.Lock()
	wake := f.subscribers
	if state.Unknown == f.state.Unknown && text == f.text {
		wake = nil
	}
	f.state, f.text = state, text
	select {
	case <-f.attempted:
	default:
		close(f.attempted)
	}
	f.mu.Unlock()
	for _, call := range wake {
		call()
	}
}
