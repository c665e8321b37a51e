// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// workers is how many namespaces arrive and leave at once.
	workers = 8
	// changeTimeout limits how long the informers may take for one namespace, before it is tried again.
	changeTimeout = time.Minute
	// recheck is when a namespace that has left is looked for in the informers a second time: what was on
	// its way into one then has come.
	recheck = 10 * time.Second
	// maxDefer is the longest pause before an object is filtered again whose namespace is not reconciled yet.
	maxDefer = 5 * time.Second
)

// Options of a Shard. All are required except RecordEvent.
type Options struct {
	// Name of the shard, a label of DNS: what its claims carry.
	Name string
	// Selector selects the namespaces by their labels.
	Selector labels.Selector
	// Client watches namespaces, and the claims in Namespace, which is the operator's.
	Client    kubernetes.Interface
	Namespace string
	// RecordEvent writes an Event. Defaults to nil: none is written.
	RecordEvent func(events.Event)
	Logger      logr.Logger
	Registerer  prometheus.Registerer
}

// phase is where a namespace is on its way.
type phase string

const (
	arriving phase = "arriving" // the informers list its objects
	waiting  phase = "waiting"  // for the claim
	owned    phase = "owned"
	leaving  phase = "leaving" // the informers drop its objects, and writes that are under way end
)

// entry is a namespace that is, or was until now, the shard's.
type entry struct {
	phase    phase
	since    time.Time
	holder   string // the shard that has the claim, while this one waits
	reported bool   // that it waits
	writes   int    // that are under way
}

// Shard is the part of the cluster that one term of an operator reconciles.
type Shard struct {
	// OnArrive is called before the first object of a namespace is reconciled, when the informers have all of
	// them. It is set before Run. Defaults to nil.
	OnArrive func(ctx context.Context, namespace string) error

	options    Options
	queue      workqueue.TypedRateLimitingInterface[string]
	namespaces cache.SharedIndexInformer
	claims     *claims
	ready      chan struct{} // closed when the namespaces are known

	mu      sync.Mutex
	leads   bool
	entries map[string]*entry
	filters []*filter
}

// New returns a Shard. It sends no request.
func New(o Options) (*Shard, error) {
	s := &Shard{
		options: o, ready: make(chan struct{}), entries: map[string]*entry{},
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, maxDefer)),
		claims: newClaims(o.Client, o.Namespace, o.Name),
	}
	s.namespaces = newInformer(o.Client, o.Client.CoreV1().Namespaces(), &corev1.Namespace{}, o.Selector.String())
	if err := s.namespaces.SetTransform(onlyName); err != nil {
		return nil, err
	}
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			s.queue.Add(key)
		}
	}
	if _, err := s.namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, DeleteFunc: enqueue}); err != nil {
		return nil, err
	}
	return s, o.Registerer.Register(s)
}

// onlyName drops what is not read of a namespace.
func onlyName(object any) (any, error) {
	if namespace, ok := object.(*corev1.Namespace); ok {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion,
		}}, nil
	}
	return object, nil
}

// NewInformer returns an informer that holds the objects of the shard's namespaces, and all objects that
// have no namespace. It is a NewInformer of a controller-runtime cache.
func (s *Shard) NewInformer(
	source cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	f := newFilter(source, example, s.known)
	f.informer = cache.NewSharedIndexInformer(f.listWatch(), example, resync, indexers)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filters = append(s.filters, f)
	return f.informer
}

// known returns the namespaces of the shard. It waits until they are known.
func (s *Shard) known(ctx context.Context) (map[string]bool, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("the namespaces of shard %s are not known: %w; may the service account list namespaces?", s.options.Name, context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make(map[string]bool, len(s.entries))
	for name, e := range s.entries {
		if e.phase != leaving {
			names[name] = true
		}
	}
	return names, nil
}

// Run follows the namespaces and keeps the informers to them, until ctx ends. It is called once, with the cache.
func (s *Shard) Run(ctx context.Context) error {
	follow(ctx, s.namespaces, s.namespaces.HasSynced, func() { s.work(ctx) })
	return nil
}

// work handles the namespaces that change, once all are known.
func (s *Shard) work(ctx context.Context) {
	s.mu.Lock()
	for _, name := range s.namespaces.GetStore().ListKeys() {
		s.entries[name] = &entry{phase: waiting, since: time.Now()} // the first lists of the informers have its objects
	}
	s.mu.Unlock()
	close(s.ready)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			panics.Go("shard", func() {
				for s.next(ctx) {
				}
			})
		})
	}
	<-ctx.Done()
	s.queue.ShutDown()
	running.Wait()
}

// next handles one namespace.
func (s *Shard) next(ctx context.Context) bool {
	name, end := s.queue.Get()
	if end {
		return false
	}
	defer s.queue.Done(name)
	err := panics.Try("shard", func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, changeTimeout, fmt.Errorf("not done within %s", changeTimeout))
		defer cancel()
		return s.handle(ctx, name)
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.options.Logger.Error(err, "cannot take over or release a namespace yet; retrying", "namespace", name)
		s.queue.AddRateLimited(name)
	default:
		s.queue.Forget(name)
	}
	return true
}

// handle takes a namespace a step further. No two calls for one namespace run at once.
func (s *Shard) handle(ctx context.Context, name string) error {
	_, mine, err := s.namespaces.GetStore().GetByKey(name)
	if err != nil {
		return err
	}
	current, leads := s.phaseOf(name)
	switch {
	case mine && (current == "" || current == leaving):
		s.set(name, arriving)
		fallthrough
	case mine && current == arriving:
		if err := s.each(func(f *filter) error { return f.arrive(ctx, name) }); err != nil {
			return err
		}
		s.set(name, waiting)
		s.queue.Add(name)
		return nil
	case mine && leads && (current == waiting || current == owned && !s.claims.has(name)):
		return s.claim(ctx, name)
	case mine:
		return nil
	case current != "":
		s.set(name, leaving)
		return s.letGo(ctx, name, leads)
	}
	if leads { // an earlier leader of the shard may not have come to it
		if err := s.claims.release(ctx, name); err != nil {
			return err
		}
	}
	return s.each(func(f *filter) error { return f.leave(ctx, name) }) // what was on its way when it left
}

// claim makes a namespace the shard's, or waits for the shard that has it.
func (s *Shard) claim(ctx context.Context, name string) error {
	s.set(name, waiting)
	holder, err := s.claims.acquire(ctx, name)
	if err != nil {
		return err
	}
	if holder != s.options.Name {
		s.wait(name, holder)
		return nil
	}
	if s.OnArrive != nil {
		if err := s.OnArrive(ctx, name); err != nil {
			return err
		}
	}
	s.set(name, owned)
	return nil
}

// letGo empties the informers and gives the claim back when the last write has ended.
func (s *Shard) letGo(ctx context.Context, name string, leads bool) error {
	if err := s.each(func(f *filter) error { return f.leave(ctx, name) }); err != nil {
		return err
	}
	if s.writesTo(name) > 0 {
		s.queue.AddAfter(name, 10*time.Millisecond)
		return nil
	}
	if leads {
		if err := s.claims.release(ctx, name); err != nil {
			return err
		}
	}
	s.mu.Lock()
	delete(s.entries, name)
	s.mu.Unlock()
	s.queue.AddAfter(name, recheck)
	return nil
}

// Lead claims the namespaces, until ctx ends. It is called while this replica leads its shard.
func (s *Shard) Lead(ctx context.Context) error {
	defer s.setLeads(false)
	return s.claims.run(ctx, func() { s.setLeads(true) }, s.queue.Add)
}

func (s *Shard) setLeads(leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leads = leads
	for name, e := range s.entries {
		if !leads && e.phase == owned {
			e.phase, e.since = waiting, time.Now()
		}
		s.queue.Add(name)
	}
}

// each calls do for every informer, side by side.
func (s *Shard) each(do func(*filter) error) error {
	s.mu.Lock()
	filters := slices.Clone(s.filters)
	s.mu.Unlock()
	results := make(chan error, len(filters))
	for _, f := range filters {
		go func() { results <- panics.Try("shard", func() error { return do(f) }) }()
	}
	var errs []error
	for range filters {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

func (s *Shard) phaseOf(name string) (current phase, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		current = e.phase
	}
	return current, s.leads
}

func (s *Shard) set(name string, p phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil {
		e = &entry{}
		s.entries[name] = e
	}
	if p == owned && !s.leads { // since it was claimed
		p = waiting
	}
	if e.phase != p {
		e.phase, e.since, e.holder, e.reported = p, time.Now(), "", false
	}
}

// wait records which shard has the claim, and reports it by an Event when that has been so for a while.
func (s *Shard) wait(name, holder string) {
	s.mu.Lock()
	e := s.entries[name]
	e.holder = holder
	report := !e.reported && time.Since(e.since) > reportAfter
	e.reported = e.reported || report
	s.mu.Unlock()
	s.queue.AddAfter(name, retryClaim)
	if !report {
		return
	}
	note := fmt.Sprintf("Shard %q selects this namespace, which shard %q has claimed: it is reconciled by that one until it is not selected there any more. "+
		"Where that shard is gone for good, delete its Lease %s in namespace %s.", s.options.Name, holder, claimName(name), s.options.Namespace)
	s.options.Logger.Info("waiting for a namespace", "namespace", name, "holder", holder, "claim", claimName(name))
	if s.options.RecordEvent != nil {
		s.options.RecordEvent(events.Event{
			Regarding:     corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: name},
			ClusterScoped: true, Reason: "ClaimedByOtherShard", Action: "Claim", Note: note,
		})
	}
}
