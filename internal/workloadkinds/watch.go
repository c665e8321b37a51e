// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadkinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// interval is the time between two looks at whether a kind is served.
	interval = 30 * time.Second
	// soon is the least time between two looks where an object is missing, or nothing is known yet.
	soon = 5 * time.Second
	// attemptTimeout limits one look, and the first list of the informer.
	attemptTimeout = 20 * time.Second
)

// ErrUnknown means that the API server has not said yet whether it serves a kind.
var ErrUnknown = errors.New("the API server has not reported yet whether it serves the kinds of all targets")

// State is the availability of a kind: whether the API server serves it, and whether the operator can read it.
type State struct {
	// Known is false until the API server has said whether it serves them.
	Known bool
	// Served means that the cache has them.
	Served bool
	// Unreadable means that the API server serves them, and the operator cannot read them; Forbidden that it may not.
	Unreadable, Forbidden bool
	// Why is why the cache does not have them, and what to do about it, as a sentence; empty where it has.
	Why string
}

// Options of Watches. All are required but Logger.
type Options struct {
	// Cache has the informer while there is one.
	Cache cache.Cache
	// Live reads from the API server.
	Live client.Reader
	// Serves reports whether the API server serves a kind, according to its discovery.
	Serves func(context.Context, Kind) (bool, error)
	// Logger defaults to logr.Discard().
	Logger logr.Logger
}

// Watches have Rollouts, MountedSecrets and the kinds of a configuration in a cache, each while something asks for it and the API
// server serves it. They look for that every interval, by a request for one object, and send no request before anything asks.
type Watches struct {
	// Configured are the kinds of the configuration.
	Configured []Kind
	all        []*watch
}

// watch is the watch of one kind.
type watch struct {
	kind     Kind
	options  Options
	wake     chan struct{}
	handlers []handler.TypedEventHandler[client.Object, reconcile.Request]
	onChange []func(context.Context)

	mu        sync.Mutex
	wanted    bool
	namespace string // of what asked last
	state     State

	// looked and informed are of Run alone: when it looked last, and whether there is an informer.
	looked   time.Time
	informed bool
}

// New returns Watches of Rollouts, of MountedSecrets and of the kinds of a configuration. The caller runs them while the cache runs.
func New(o Options, configured ...Kind) *Watches {
	all := &Watches{Configured: configured}
	for _, kind := range append([]Kind{Rollouts, MountedSecrets}, configured...) {
		all.all = append(all.all, &watch{kind: kind, options: o, wake: make(chan struct{}, 1)})
	}
	return all
}

// Subscribe has events of each kind of workloads handled from now on, and onChange called when the State of one is another.
// Neither may block. The queue that a handler gets is nil. It is called before Run.
func (w *Watches) Subscribe(handle func(Kind) handler.TypedEventHandler[client.Object, reconcile.Request], onChange func(context.Context)) {
	for _, one := range w.all {
		if !one.kind.isMounted() {
			one.subscribe(handle(one.kind), onChange)
		}
	}
}

// SubscribeMounted is Subscribe for MountedSecrets. Of one that was created or deleted, before is nil.
func (w *Watches) SubscribeMounted(handle func(before, object client.Object), onChange func(context.Context)) {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	w.of(MountedSecrets.Name()).subscribe(handler.TypedFuncs[client.Object, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], _ queue) { handle(nil, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], _ queue) {
			handle(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], _ queue) { handle(nil, e.Object) },
	}, onChange)
}

func (w *watch) subscribe(handle handler.TypedEventHandler[client.Object, reconcile.Request], onChange func(context.Context)) {
	w.handlers, w.onChange = append(w.handlers, handle), append(w.onChange, onChange)
}

// Want returns the state of a kind for an object of a namespace that has to do with it, and has it found out. Without Watches,
// Rollouts are served.
func (w *Watches) Want(kind common.WorkloadKind, namespace string) State {
	if one := w.of(kind); one != nil {
		return one.want(namespace)
	}
	if w == nil && kind == common.WorkloadRollout {
		return State{Known: true, Served: true}
	}
	return State{Known: true, Unreadable: true, Forbidden: true, Why: NotConfigured(kind)}
}

// LookAgain has it found out soon whether a kind is still served: an object that should be there is missing.
func (w *Watches) LookAgain(kind common.WorkloadKind) {
	if one := w.of(kind); one != nil {
		one.look()
	}
}

func (w *Watches) of(kind common.WorkloadKind) *watch {
	if w == nil {
		return nil
	}
	if at := slices.IndexFunc(w.all, func(one *watch) bool { return one.kind.Name() == kind }); at >= 0 {
		return w.all[at]
	}
	return nil
}

// Kinds returns those of the configuration.
func (w *Watches) Kinds() []Kind {
	if w == nil {
		return nil
	}
	return w.Configured
}

// Run looks for the kinds until ctx ends.
func (w *Watches) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, one := range w.all {
		group.Go(func() { panics.Go("watch of workloads", func() { one.run(ctx) }) })
	}
	group.Wait()
	return nil
}

// eventsOf hands the events of an informer to a handler.
func eventsOf(ctx context.Context, handle handler.TypedEventHandler[client.Object, reconcile.Request]) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if r, is := object.(client.Object); is {
				handle.Create(ctx, event.TypedCreateEvent[client.Object]{Object: r}, nil)
			}
		},
		UpdateFunc: func(before, after any) {
			old, is := before.(client.Object)
			if r, are := after.(client.Object); is && are {
				handle.Update(ctx, event.TypedUpdateEvent[client.Object]{ObjectOld: old, ObjectNew: r}, nil)
			}
		},
		DeleteFunc: func(object any) {
			if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
				object = last.Obj
			}
			if r, is := object.(client.Object); is {
				handle.Delete(ctx, event.TypedDeleteEvent[client.Object]{Object: r}, nil)
			}
		},
	}
}

func (w *watch) want(namespace string) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.namespace = namespace
	if !w.wanted {
		w.wanted = true
		w.look()
	}
	return w.state
}

func (w *watch) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watch) run(ctx context.Context) {
	timer := time.NewTimer(interval)
	timer.Stop() // until something wants the kind
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			if wait := soon - time.Since(w.looked); wait > 0 {
				timer.Reset(wait)
				continue
			}
		case <-timer.C:
		}
		next := interval
		if err := panics.Try("watch of workloads", func() error { return w.find(ctx) }); err != nil {
			w.options.Logger.Error(err, "It is not known whether a kind of workloads is served", "kind", w.kind.Name())
			next = soon
		}
		w.looked = time.Now()
		timer.Reset(next)
	}
}

// find finds out whether the kind is served, and keeps the informer in step. An error leaves the state as it is.
func (w *watch) find(ctx context.Context) error {
	w.mu.Lock()
	namespace := w.namespace
	w.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	one := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: w.kind.GroupVersion().String(), Kind: w.kind.Kind + "List"}}
	err := w.options.Live.List(within, one, client.InNamespace(namespace), client.Limit(1))
	switch {
	case err == nil:
		state := State{Known: true, Served: true}
		if err := w.inform(ctx, within); err != nil {
			state = State{Known: true, Unreadable: true, Why: fmt.Sprintf("%s cannot be read: %v", w.kind.plural(), err)}
		}
		return w.set(ctx, state)
	case isAbsent(err):
		if served, unknown := w.options.Serves(within, w.kind); served || unknown != nil {
			return errors.Join(err, unknown)
		}
		return w.set(ctx, State{Known: true, Why: w.kind.NotServed()})
	case apierrors.IsForbidden(err):
		return w.set(ctx, State{Known: true, Unreadable: true, Forbidden: true, Why: w.kind.forbidden()})
	}
	return err
}

// isAbsent reports whether an error may be that there is no such kind. So may be the page of a proxy: discovery confirms it.
func isAbsent(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// Serves returns a function that asks the discovery of an API server for a kind. For a group that is not served an API server
// has the same page as a proxy, so that what counts is a list of all groups without it, or of its resources without the kind's.
func Serves(api rest.Interface) func(context.Context, Kind) (bool, error) {
	return func(ctx context.Context, kind Kind) (bool, error) {
		version := kind.GroupVersion().String()
		var groups metav1.APIGroupList
		if err := read(ctx, api, &groups, "/apis"); err != nil {
			return false, err
		}
		for _, group := range groups.Groups {
			if slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == version }) {
				var resources metav1.APIResourceList
				if err := read(ctx, api, &resources, "/apis/"+version); err != nil {
					return false, err
				}
				return slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool {
					return r.Name == kind.resource() && r.Namespaced
				}), nil
			}
		}
		if len(groups.Groups) == 0 {
			return false, errors.New("the API server has no API groups")
		}
		return false, nil
	}
}

func read(ctx context.Context, api rest.Interface, into any, path string) error {
	raw, err := api.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("discovery of %s: %w", path, err)
	}
	return nil
}

// inform makes the informer, unless there is one, and waits until it has synced.
func (w *watch) inform(ctx, within context.Context) error {
	if w.informed {
		return nil
	}
	w.informed = true
	object, _ := w.kind.New()
	informer, err := w.options.Cache.GetInformer(within, object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("informer of %s: %w", w.kind.plural(), err)
	}
	for _, handle := range w.handlers {
		if _, err := informer.AddEventHandler(eventsOf(ctx, handle)); err != nil {
			return fmt.Errorf("informer of %s: %w", w.kind.plural(), err)
		}
	}
	select {
	case <-informer.HasSyncedChecker().Done():
		return nil
	case <-within.Done():
		return fmt.Errorf("the cache of %s has not synced: %w", w.kind.plural(), within.Err())
	}
}

// set sets the state, tells those that want to know, and removes the informer where it is not served.
func (w *watch) set(ctx context.Context, state State) error {
	w.mu.Lock()
	changed := w.state != state
	w.state = state
	w.mu.Unlock()
	if changed {
		w.options.Logger.Info("Whether a kind of workloads is served", "kind", w.kind.Name(), "served", state.Served, "why", state.Why)
		for _, call := range w.onChange {
			call(ctx)
		}
	}
	if state.Served || !w.informed {
		return nil
	}
	w.informed = false
	object, _ := w.kind.New()
	return w.options.Cache.RemoveInformer(ctx, object)
}
