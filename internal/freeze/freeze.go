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
	// readInterval is how often the ConfigMap is read though no watch event has come.
	readInterval = 10 * time.Minute
	// readTimeout bounds one read.
	readTimeout = 10 * time.Second
	// absenceTimeout is how long the API server must say that a ConfigMap which was read does not exist, and
	// nothing else, where no watch has shown its deletion.
	absenceTimeout = 2 * time.Minute
)

// Options of a Freeze.
type Options struct {
	// Configured are blackouts that always hold. Defaults to none.
	Configured []cron.Blackout
	// ConfigMaps of the operator's namespace, and the Name of the one to follow. Without a name, none is.
	ConfigMaps typedcorev1.ConfigMapInterface
	Name       string
	// OnUnreadable is called with the cause when the ConfigMap exists, or may, and cannot be read. It must not block.
	// Defaults to nil: it is not called.
	OnUnreadable func(cause string)
	// Logger drops everything by default.
	Logger logr.Logger
	// Registerer takes the metrics. The default takes none.
	Registerer prometheus.Registerer
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Freeze has the blackouts of the cluster. A nil Freeze has none.
type Freeze struct {
	options   Options
	began     time.Time     // of the clock that is never set
	attempted chan struct{} // closed once the ConfigMap was read, or could not be

	mu      sync.Mutex // guards what follows
	state   State
	text    string // that the state was read from
	cause   string // why the ConfigMap cannot be read; empty where it was
	absence absence
	wake    []func()
}

// New returns a Freeze with what is configured. It reads the rest when it runs.
func New(o Options) (*Freeze, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	configured, err := cron.NewBlackouts(o.Configured)
	if err != nil {
		return nil, err
	}
	f := &Freeze{options: o, began: time.Now(), attempted: make(chan struct{}), state: State{Blackouts: configured}}
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
			Help: "Whether a blackout of the cluster holds now, or it is not known whether one does: 1; otherwise 0.",
		}, func() float64 { return boolToFloat(f.State().Message(f.options.Now()) != "") }),
	}
}

func boolToFloat(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// State returns what is known now.
func (f *Freeze) State() State {
	if f == nil {
		return State{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Subscribe calls wake after every change of State, but not when a blackout begins or ends by time. Wake must not
// block.
func (f *Freeze) Subscribe(wake func()) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = append(f.wake, wake)
}

// Wait returns once the ConfigMap was read or could not be, or ctx ends.
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
			objectwatch.Signal(changed) // without a watch it is read at this pace
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

// waitFor waits for a note, some time, or the end of ctx.
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

// read takes over the content of the ConfigMap. One that is known not to exist counts as empty.
func (f *Freeze) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	declared, err := f.options.ConfigMaps.Get(ctx, f.options.Name, metav1.GetOptions{})
	f.mu.Lock()
	declared, err = f.absence.judge(declared, err, f.options.Name, time.Since(f.began))
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

// setUnreadable keeps the blackouts that are known, and reports that they may be old.
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

// set takes over a state and the text that it was read from, and wakes who waits for another one.
func (f *Freeze) set(state State, text string) {
	f.mu.Lock()
	wake := f.wake
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
