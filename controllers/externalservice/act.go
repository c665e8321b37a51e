// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// withdrawalTimeout bounds a write that takes an address out of service and puts another one into it. After that the
// address is taken out alone.
const withdrawalTimeout = 5 * time.Second

// sliceWriter writes the EndpointSlices of one Service: first those that take traffic off an address (withdraw), then the
// others (extend). The error of a write stops no other one.
type sliceWriter struct {
	reconciler *Reconciler
	service    *corev1.Service
	state      *objectState
	// held are the slices as they are, by name: those of the cache, and what was written since.
	held map[string]*discoveryv1.EndpointSlice
	fit  failover.Fitness
	// allow has the NetworkPolicy allow what a slice has and no slice had before. It is nil where nothing needs that.
	allow func(context.Context, *publication.Slice) error
	// refused are the errors of writes. wrote and failed tell that a write has succeeded and that one has failed.
	refused       *refusals
	wrote, failed bool
}

func (r *Reconciler) newSliceWriter(
	service *corev1.Service, current []*discoveryv1.EndpointSlice, fit failover.Fitness, state *objectState, refused *refusals,
) *sliceWriter {
	w := &sliceWriter{
		reconciler: r, service: service, state: state, fit: fit, refused: refused,
		held: make(map[string]*discoveryv1.EndpointSlice, len(current)),
	}
	for _, slice := range current {
		if slice.DeletionTimestamp == nil {
			w.held[slice.Name] = slice
		}
	}
	return w
}

// names returns the names of the slices that are there, in order.
func (w *sliceWriter) names() []string { return slices.Sorted(maps.Keys(w.held)) }

// current returns the slices that are there.
func (w *sliceWriter) current() []*discoveryv1.EndpointSlice {
	return slices.Collect(maps.Values(w.held))
}

// withdraw takes traffic off the addresses that must not have it, in the slices that the Service owns.
func (w *sliceWriter) withdraw(ctx context.Context, wanted []publication.Slice) {
	for _, name := range w.names() {
		held := w.held[name]
		if owner := metav1.GetControllerOf(held); owner == nil || owner.UID != w.service.UID || !publication.Violates(held, &w.fit) {
			continue
		}
		w.count(w.withdrawFrom(ctx, held, publication.FindWanted(wanted, name)))
	}
}

// withdrawFrom takes traffic off the unfit addresses of a slice. It writes the slice as it is wanted, if no other address
// loses traffic by that. Where that is refused, or too slow, the unfit addresses are made not ready alone: what refuses
// an address that is added does not keep one in service that has failed.
func (w *sliceWriter) withdrawFrom(ctx context.Context, held *discoveryv1.EndpointSlice, wanted *publication.Slice) error {
	left := publication.WithoutTraffic(held, &w.fit)
	useful := slices.ContainsFunc(left.Endpoints, func(e discoveryv1.Endpoint) bool { return endpoints.IsReady(&e) })
	switch {
	case wanted != nil && !publication.MovesAway(held, wanted, &w.fit):
		bounded, cancel := context.WithTimeout(ctx, withdrawalTimeout)
		err := w.apply(bounded, wanted)
		cancel()
		if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return err
		}
	case wanted == nil && !useful:
		if err := w.delete(ctx, held); err == nil || apierrors.IsConflict(err) {
			return err
		}
	}
	err := w.apply(ctx, left)
	if err != nil && !apierrors.IsConflict(err) && !useful {
		return w.delete(ctx, held) // a policy that refuses a change may allow this
	}
	return err
}

// extend writes what is wanted, and then removes what is not wanted any more.
func (w *sliceWriter) extend(ctx context.Context, wanted []publication.Slice) {
	w.remove(ctx, wanted, w.add(ctx, wanted))
}

// add writes what is wanted, slices with new addresses first, and reports whether all of it is there. An address that leaves
// a slice for another one stays in both until all are written.
func (w *sliceWriter) add(ctx context.Context, wanted []publication.Slice) (isComplete bool) {
	isComplete = true
	write := func(s *publication.Slice) {
		if held := w.held[s.Name]; held == nil || !s.Is(held, w.service) {
			err := w.apply(ctx, s)
			w.count(err)
			isComplete = isComplete && err == nil
		}
	}
	for i := range wanted {
		s := &wanted[i]
		if held := w.held[s.Name]; held != nil {
			s = publication.Keeping(held, s, &w.fit)
		}
		write(s)
	}
	for i := 0; i < len(wanted) && isComplete; i++ {
		write(&wanted[i])
	}
	return isComplete
}

// remove removes what is not wanted any more. Where something that was to be added is missing, addresses that could take
// traffic stay until it is there.
func (w *sliceWriter) remove(ctx context.Context, wanted []publication.Slice, isComplete bool) {
	for _, name := range w.names() {
		if publication.FindWanted(wanted, name) != nil {
			continue
		}
		held := w.held[name]
		if left := publication.OnlyFit(held, &w.fit); !isComplete && len(left.Endpoints) > 0 {
			if len(left.Endpoints) < len(held.Endpoints) {
				w.count(w.apply(ctx, left))
			}
			continue
		}
		w.count(w.delete(ctx, held))
	}
}

// removeUnused removes the slices in which clients of the Service find nothing, except those that are wanted, and reports
// whether none is left: a name that the Service gets must not lead to what was behind it before.
func (w *sliceWriter) removeUnused(ctx context.Context, service *corev1.Service, wanted []publication.Slice) bool {
	isDone := true
	for _, name := range w.names() {
		if publication.FindWanted(wanted, name) == nil && !publication.IsUsed(w.held[name], service) {
			err := w.delete(ctx, w.held[name])
			w.count(err)
			isDone = isDone && err == nil
		}
	}
	return isDone
}

// count stores what has become of a write.
func (w *sliceWriter) count(err error) {
	if err == nil {
		return
	}
	if w.failed = true; !errors.Is(err, errNotAllowed) {
		w.refused.add(err)
	}
}

// apply writes a slice as given, and stores it as it is then.
func (w *sliceWriter) apply(ctx context.Context, s *publication.Slice) error {
	if w.allow != nil {
		if err := w.allow(ctx, s); err != nil {
			return fmt.Errorf("apply EndpointSlice %s: %w", s.Name, err)
		}
	}
	version := onlyCreate
	held := w.held[s.Name]
	if held != nil {
		version = held.ResourceVersion
	}
	wanted := s.Configuration(w.service).WithResourceVersion(version)
	err := w.reconciler.apply(ctx, wanted)
	if held == nil && apierrors.IsConflict(err) {
		err = w.reconciler.reclaimSlice(ctx, w.service, s, wanted)
	}
	if err != nil {
		return fmt.Errorf("apply EndpointSlice %s: %w", s.Name, err)
	}
	w.wrote = true
	w.state.recordWrite(s.Name, ptr.Deref(wanted.ResourceVersion, ""), w.reconciler.Now())
	held = s.Object(w.service)
	held.UID, held.ResourceVersion = ptr.Deref(wanted.UID, ""), ptr.Deref(wanted.ResourceVersion, "")
	w.held[s.Name] = held
	return nil
}

func (w *sliceWriter) delete(ctx context.Context, held *discoveryv1.EndpointSlice) error {
	err := w.reconciler.Client.Delete(ctx, held.DeepCopy(), client.Preconditions{UID: &held.UID, ResourceVersion: &held.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete EndpointSlice %s: %w", held.Name, err)
	}
	w.wrote = true
	w.state.recordWrite(held.Name, "", w.reconciler.Now())
	delete(w.held, held.Name)
	return nil
}

// reclaimSlice applies a slice that exists although the cache does not have it: one of the labels that select it
// was changed. A slice that the Service does not own is left alone.
func (r *Reconciler) reclaimSlice(
	ctx context.Context, service *corev1.Service, s *publication.Slice, wanted *discoveryv1ac.EndpointSliceApplyConfiguration,
) error {
	stray := &discoveryv1.EndpointSlice{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: s.Name}, stray); err != nil {
		return err
	}
	if owner := metav1.GetControllerOf(stray); owner == nil || owner.Kind != "Service" || owner.Name != service.Name {
		return errForeignSlice
	}
	wanted.WithResourceVersion(stray.ResourceVersion)
	if s.Is(stray, service) {
		return nil // the cache was stale
	}
	return r.apply(ctx, wanted)
}

// apply applies an object as our field owner.
func (r *Reconciler) apply(ctx context.Context, object runtime.ApplyConfiguration) error {
	return r.Client.Apply(ctx, object, client.FieldOwner(common.FieldOwner), client.ForceOwnership)
}

// removeDenied writes what is left of the slices that had denied addresses.
func (r *Reconciler) removeDenied(
	ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, suspension *failover.Suspension,
	state *objectState, refused *refusals,
) {
	wanted, changed := publication.Retained(current, suspension.Ready)
	if len(changed) == 0 {
		return
	}
	service := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(es), service); err != nil {
		refused.add(client.IgnoreNotFound(err)) // the slices go with it
		return
	}
	if rules.BelongsTo(service, es) {
		writer := r.newSliceWriter(service, changed, suspension.Fitness, state, refused)
		writer.withdraw(ctx, wanted)
		writer.extend(ctx, wanted)
	}
}

// errForeignSlice does not happen by accident: the names of our slices have a digest in them.
var errForeignSlice = errors.New("an EndpointSlice of this name exists and is not ours: delete it")
