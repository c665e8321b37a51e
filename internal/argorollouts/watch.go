// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package argorollouts

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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// interval is the time between two looks at whether Rollouts are served.
	interval = 30 * time.Second
	// soon is the least time between two looks where an object is missing, or nothing is known yet.
	soon = 5 * time.Second
	// attemptTimeout limits one look, and the first list of the informer.
	attemptTimeout = 20 * time.Second
)

// ErrUnknown is that it is not known yet whether the API server serves Rollouts.
var ErrUnknown = errors.New("it is not known yet whether the API server serves Rollouts")

// State is what is known of Rollouts in a cluster.
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

// NotServed is why there are no Rollouts in a cluster without Argo Rollouts.
const NotServed = "the API server does not serve Rollouts (argoproj.io/v1alpha1): install Argo Rollouts, or remove the targets with group argoproj.io"

// Options of a Watch. All are required but Logger.
type Options struct {
	// Cache has the informer while there is one.
	Cache cache.Cache
	// Live reads from the API server.
	Live client.Reader
	// Serves reports whether the API server serves Rollouts, according to its discovery.
	Serves func(context.Context) (bool, error)
	// Logger defaults to logr.Discard().
	Logger logr.Logger
}

// Watch has Rollouts in a cache while something asks for them and the API server serves them. It looks for that every
// interval, by a request for one object, and sends no request before anything asks.
type Watch struct {
	options  Options
	wake     chan struct{}
	handlers []handler.TypedEventHandler[*Rollout, reconcile.Request]
	onChange []func(context.Context)

	mu        sync.Mutex
	wanted    bool
	namespace string // of what asked last
	state     State

	// looked and informed are of Run alone: when it looked last, and whether there is an informer.
	looked   time.Time
	informed bool
}

// New returns a Watch. The caller runs it while the cache runs.
func New(o Options) *Watch { return &Watch{options: o, wake: make(chan struct{}, 1)} }

// Subscribe has events of Rollouts handled from now on, and onChange called when the State is another. Neither may block. The
// queue that the handler gets is nil. It is called before Run.
func (w *Watch) Subscribe(handle handler.TypedEventHandler[*Rollout, reconcile.Request], onChange func(context.Context)) {
	if w != nil {
		w.handlers, w.onChange = append(w.handlers, handle), append(w.onChange, onChange)
	}
}

// eventsOf hands the events of an informer to a handler.
func eventsOf(ctx context.Context, handle handler.TypedEventHandler[*Rollout, reconcile.Request]) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if r, is := object.(*Rollout); is {
				handle.Create(ctx, event.TypedCreateEvent[*Rollout]{Object: r}, nil)
			}
		},
		UpdateFunc: func(before, after any) {
			old, is := before.(*Rollout)
			if r, are := after.(*Rollout); is && are {
				handle.Update(ctx, event.TypedUpdateEvent[*Rollout]{ObjectOld: old, ObjectNew: r}, nil)
			}
		},
		DeleteFunc: func(object any) {
			if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
				object = last.Obj
			}
			if r, is := object.(*Rollout); is {
				handle.Delete(ctx, event.TypedDeleteEvent[*Rollout]{Object: r}, nil)
			}
		},
	}
}

// Want returns the state for an object of a namespace that has to do with Rollouts, and has the Watch find out. Without a Watch
// they are served.
func (w *Watch) Want(namespace string) State {
	if w == nil {
		return State{Known: true, Served: true}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.namespace = namespace
	if !w.wanted {
		w.wanted = true
		w.look()
	}
	return w.state
}

// LookAgain has the Watch find out soon whether Rollouts are still served: one that should be there is missing.
func (w *Watch) LookAgain() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
}

func (w *Watch) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run looks for Rollouts until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	timer := time.NewTimer(interval)
	timer.Stop() // until something wants Rollouts
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			if wait := soon - time.Since(w.looked); wait > 0 {
				timer.Reset(wait)
				continue
			}
		case <-timer.C:
		}
		next := interval
		if err := panics.Try("watch of Rollouts", func() error { return w.find(ctx) }); err != nil {
			w.options.Logger.Error(err, "It is not known whether Rollouts are served")
			next = soon
		}
		w.looked = time.Now()
		timer.Reset(next)
	}
}

// find finds out whether Rollouts are served, and keeps the informer in step. An error leaves the state as it is.
func (w *Watch) find(ctx context.Context) error {
	w.mu.Lock()
	namespace := w.namespace
	w.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	one := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: GroupVersion.String(), Kind: Kind + "List"}}
	err := w.options.Live.List(within, one, client.InNamespace(namespace), client.Limit(1))
	switch {
	case err == nil:
		state := State{Known: true, Served: true}
		if err := w.inform(ctx, within); err != nil {
			state = State{Known: true, Unreadable: true, Why: fmt.Sprintf("Rollouts cannot be read: %v", err)}
		}
		return w.set(ctx, state)
	case isAbsent(err):
		if served, unknown := w.options.Serves(within); served || unknown != nil {
			return errors.Join(err, unknown)
		}
		return w.set(ctx, State{Known: true, Why: NotServed})
	case apierrors.IsForbidden(err):
		return w.set(ctx, State{Known: true, Unreadable: true, Forbidden: true, Why: "the operator may not list Rollouts: grant its role get, list, watch and patch of rollouts.argoproj.io, or remove the targets with group argoproj.io"})
	}
	return err
}

// isAbsent reports whether an error may be that there is no such kind. So may be the page of a proxy: discovery confirms it.
func isAbsent(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// Serves returns a function that asks the discovery of an API server for Rollouts. For a group that is not served an API server
// has the same page as a proxy, so that what counts is a list of all groups without it, or of its resources without them.
func Serves(api rest.Interface) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var groups metav1.APIGroupList
		if err := read(ctx, api, &groups, "/apis"); err != nil {
			return false, err
		}
		for _, group := range groups.Groups {
			if slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == GroupVersion.String() }) {
				var resources metav1.APIResourceList
				if err := read(ctx, api, &resources, "/apis/"+GroupVersion.String()); err != nil {
					return false, err
				}
				return slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == Resource && r.Namespaced }), nil
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
func (w *Watch) inform(ctx, within context.Context) error {
	if w.informed {
		return nil
	}
	w.informed = true
	informer, err := w.options.Cache.GetInformer(within, &Rollout{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("informer of Rollouts: %w", err)
	}
	for _, handle := range w.handlers {
		if _, err := informer.AddEventHandler(eventsOf(ctx, handle)); err != nil {
			return fmt.Errorf("informer of Rollouts: %w", err)
		}
	}
	select {
	case <-informer.HasSyncedChecker().Done():
		return nil
	case <-within.Done():
		return fmt.Errorf("the cache of Rollouts has not synced: %w", within.Err())
	}
}

// set sets the state, tells those that want to know, and removes the informer where they are not served.
func (w *Watch) set(ctx context.Context, state State) error {
	w.mu.Lock()
	changed := w.state != state
	w.state = state
	w.mu.Unlock()
	if changed {
		w.options.Logger.Info("Whether Rollouts are served", "served", state.Served, "why", state.Why)
		for _, call := range w.onChange {
			call(ctx)
		}
	}
	if state.Served || !w.informed {
		return nil
	}
	w.informed = false
	return w.options.Cache.RemoveInformer(ctx, &Rollout{})
}
