// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// onlyCreate is a resource version that no object has any more. Server-side apply with it creates an object,
// and conflicts where one exists: a Service that another client made a moment ago is never adopted.
const onlyCreate = "1"

var (
	errForeignService = errors.New("a Service of this name exists and is not ours")
	// errOrphanedService is an errForeignService that an object may adopt.
	errOrphanedService = fmt.Errorf("%w: an earlier ExternalService has orphaned it", errForeignService)
	errReplacing       = errors.New("the Service is being replaced")
)

// ensureService creates or updates the Service and returns it. It keeps the ports that it has where the spec has others:
// slices have the names of these first. The error is errReplacing where ours is being deleted.
func (r *Reconciler) ensureService(ctx context.Context, es *networkingv1.ExternalService, found foundService) (*corev1.Service, error) {
	current, ports := found.service, publication.Ports(es)
	if current != nil && !publication.WasAppliedAs(current, es) {
		ports = current.Spec.Ports
	}
	switch {
	case current == nil:
		service, err := r.applyWithAddress(ctx, es, nil, ports)
		if !found.assumed || !apierrors.IsConflict(err) {
			return service, err
		}
		if found, err = r.findService(ctx, es, false); err != nil {
			return nil, err
		}
		return r.ensureService(ctx, es, found)
	case !current.DeletionTimestamp.IsZero():
		if len(current.Finalizers) > 0 {
			return nil, fmt.Errorf("the Service is being deleted, and cannot be created again while its finalizers %q keep it", current.Finalizers)
		}
		return nil, errReplacing
	case current.Spec.ClusterIP != "" && publication.IsHeadless(current) != rules.IsHeadless(es.Spec.Service):
		return r.changeType(ctx, es, current, ports)
	case !found.adopt && publication.ServiceMatches(current, es, ports):
		return current, nil
	}
	service, err := r.applyOrRestore(ctx, es, current, ports)
	if err != nil {
		return nil, err
	}
	if found.adopt {
		r.Events.Eventf(es, nil, corev1.EventTypeNormal, networkingv1.EventServiceAdopted, actionPublish,
			"Service %s belongs to this ExternalService now", current.Name)
	}
	if fields := publication.RevertedFields(current, es); len(fields) > 0 {
		r.Events.Eventf(es, nil, corev1.EventTypeWarning, networkingv1.EventServiceReverted, actionPublish,
			"others have changed fields of Service %s that the ExternalService decides about, which are as before: %s", current.Name, strings.Join(fields, ", "))
	}
	return service, nil
}

// The API server releases the address of a deleted Service after the deletion has been seen, on a busy machine by
// more than a second. Meanwhile it refuses the address as it does one that another Service has.
const (
	releaseTries    = 10
	releaseInterval = 200 * time.Millisecond
)

// applyWithAddress creates or updates the Service. One that has no address gets the one that it had before it was deleted,
// or made an ExternalName, if it can: clients have that address in DNS caches and connection pools. A user with the right to
// write the status could forge it, but the API server allocates addresses of its Service ranges only.
func (r *Reconciler) applyWithAddress(
	ctx context.Context, es *networkingv1.ExternalService, current *corev1.Service, ports []corev1.ServicePort,
) (*corev1.Service, error) {
	apply := func(address string) (*corev1.Service, error) {
		return r.applyService(ctx, es, current.DeepCopy(), ports, address)
	}
	before, err := netip.ParseAddr(cmp.Or(es.Status.ClusterIP, r.states.Get(es).clusterIP))
	if err != nil || rules.IsHeadless(es.Spec.Service) || current != nil && current.Spec.ClusterIP != "" {
		return apply("")
	}
	for range releaseTries {
		service, err := apply(before.String())
		if !apierrors.IsInvalid(err) {
			return service, err
		}
		if !isAllocated(err) { // such as one of a cluster from which the object was restored here
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(releaseInterval):
		}
	}
	return apply("")
}

// externalName is the name of a Service while its type changes: no client may be led anywhere by it (RFC 6761).
const externalName = "transition.invalid"

// changeType makes the Service headless, or no longer so. clusterIP is immutable, except by way of an ExternalName: so the
// Service keeps its UID, its slices and its place in a quota, and no moment has none. What would refuse its successor is asked
// before. Where nothing may be an ExternalName, the Service is deleted and created again.
func (r *Reconciler) changeType(
	ctx context.Context, es *networkingv1.ExternalService, current *corev1.Service, ports []corev1.ServicePort,
) (*corev1.Service, error) {
	mayCreate, err := r.mayCreate(ctx, es, ports)
	if err != nil {
		return nil, fmt.Errorf("change type of Service: %w", err)
	}
	between := current.DeepCopy()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": current.ResourceVersion},
		"spec": map[string]any{
			"type": corev1.ServiceTypeExternalName, "externalName": externalName, "clusterIP": "", "clusterIPs": nil,
		},
	})
	if err != nil {
		return nil, err
	}
	err = r.Client.Patch(ctx, between, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(common.FieldOwner))
	switch isRefused := apierrors.IsForbidden(err) || apierrors.IsInvalid(err); {
	case isRefused && mayCreate:
		return nil, r.removeService(ctx, current)
	case err != nil:
		return nil, fmt.Errorf("change type of Service: %w", err)
	}
	r.states.Get(es).clusterIP = current.Spec.ClusterIP
	return r.applyOrRestore(ctx, es, between, ports)
}

// mayCreate reports whether the API server would let in the Service as it is wanted, were it created now. The error is a
// refusal. A quota that is used up is none, since it counts the Service already; nor is a webhook that cannot tell.
func (r *Reconciler) mayCreate(ctx context.Context, es *networkingv1.ExternalService, ports []corev1.ServicePort) (bool, error) {
	successor, err := publication.Applied(publication.Service(es, ports))
	if err == nil {
		err = r.Client.Create(ctx, successor, client.DryRunAll, client.FieldOwner(common.FieldOwner))
	}
	switch {
	case err == nil, apierrors.IsAlreadyExists(err): // admission comes first
		return true, nil
	case apierrors.IsBadRequest(err), apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return false, nil
	}
	return false, err
}

// applyOrRestore updates the Service. One that is an ExternalName, on its way to another type, and must not be that type,
// becomes what it was.
func (r *Reconciler) applyOrRestore(
	ctx context.Context, es *networkingv1.ExternalService, current *corev1.Service, ports []corev1.ServicePort,
) (*corev1.Service, error) {
	service, err := r.applyWithAddress(ctx, es, current, ports)
	had := cmp.Or(r.states.Get(es).clusterIP, es.Status.ClusterIP)
	if err == nil || current.Spec.Type != corev1.ServiceTypeExternalName || had == "" || apierrors.IsConflict(err) {
		return service, err
	}
	wasHeadless := had == corev1.ClusterIPNone
	if wasHeadless == rules.IsHeadless(es.Spec.Service) {
		return nil, err
	}
	was := es.DeepCopy()
	was.Spec.Service.ClusterIP = publication.ClusterIP(wasHeadless)
	_, restored := r.applyWithAddress(ctx, was, current, ports)
	return nil, errors.Join(err, restored)
}

func (r *Reconciler) removeService(ctx context.Context, current *corev1.Service) error {
	err := r.Client.Delete(ctx, current, client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove Service to change its type: %w", err)
	}
	return errReplacing
}

// applyService creates or updates the Service. One without an address gets clusterIP, unless that is empty.
func (r *Reconciler) applyService(
	ctx context.Context, es *networkingv1.ExternalService, current *corev1.Service, ports []corev1.ServicePort, clusterIP string,
) (*corev1.Service, error) {
	wanted := publication.Service(es, ports).WithResourceVersion(onlyCreate).
		WithAnnotations(map[string]string{rules.OwnerAnnotation: string(es.UID)})
	if clusterIP != "" {
		wanted.Spec.WithClusterIP(clusterIP)
	}
	if current != nil {
		// What was applied last is what is wanted now: others have made the difference.
		if current.Annotations[rules.AppliedAnnotation] == wanted.Annotations[rules.AppliedAnnotation] {
			if err := r.removeForeignFields(ctx, es, current, ports); err != nil {
				return nil, err
			}
		}
		wanted.WithResourceVersion(current.ResourceVersion)
		if current.Spec.ExternalName != "" {
			wanted.Spec.WithExternalName("") // which an apply without it leaves
		}
	}
	err := r.apply(ctx, wanted)
	if current != nil && apierrors.IsInvalid(err) {
		// Our fields with those that others added may be no valid Service.
		if err = r.removeForeignFields(ctx, es, current, ports); err == nil {
			err = r.apply(ctx, wanted.WithResourceVersion(current.ResourceVersion))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("apply Service: %w", err)
	}
	return publication.Applied(wanted) // the response has what others have set as well
}

// removeForeignFields removes a selector and ports that others have set. Server-side apply leaves alone what it
// never owned: a selector would publish pods besides our addresses, and a port that was renumbered by hand would
// exist besides the original.
func (r *Reconciler) removeForeignFields(
	ctx context.Context, es *networkingv1.ExternalService, current *corev1.Service, ports []corev1.ServicePort,
) error {
	wanted := publication.Service(es, ports)
	if len(current.Spec.Selector) == 0 && publication.PortsMatch(current, wanted) {
		return nil
	}
	metadata := map[string]any{"resourceVersion": current.ResourceVersion}
	if len(current.Spec.Selector) > 0 {
		metadata["annotations"] = map[string]any{rules.SelectorRemovedAnnotation: r.Now().UTC().Format(time.RFC3339)}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"selector": nil, "ports": wanted.Spec.Ports}})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, current, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(common.FieldOwner)); err != nil {
		return fmt.Errorf("take back Service: %w", err)
	}
	return nil
}

// isAllocated reports whether another Service has the address, or had it until now. The API server says so in words only.
func isAllocated(err error) bool { return strings.Contains(err.Error(), "already allocated") }

// foundService is the Service that has the name of an object.
type foundService struct {
	// service is nil where there is none, or where none is looked for since most likely there is none (assumed).
	service *corev1.Service
	assumed bool
	// ours means that its EndpointSlices are ours. One that is to be adopted (adopt) may not be ours yet.
	ours, adopt bool
}
