// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// lifeDurationSeconds is the leaseDurationSeconds of a Lease for life: 68 years. A replica that elects by
// renewal thus never acquires it, and both modes exclude each other during a change of mode.
const lifeDurationSeconds = math.MaxInt32

// Life is the Pod that this replica runs in.
type Life struct {
	// Pods is the client. Pods are read in the namespace of the Lease, which must be that of the Pod: an owner is
	// always in the same namespace.
	Pods corev1client.PodsGetter
	// Pod is the name of the Pod that this process runs in.
	Pod string
	// UID is that of the Pod. Empty means the UID of the Pod that has the name now.
	UID types.UID
}

// remedy is what to do where there is no Pod.
const remedy = "leadership for life goes with the Pod: run as one, with POD_NAME, POD_NAMESPACE and POD_UID from its fields, or set leaderElection.mode: lease"

func (l *Life) validate() error {
	switch {
	case l == nil:
		return nil
	case l.Pods == nil:
		return errors.New("election for life: no client of Pods")
	case l.Pod == "":
		return errors.New("election for life: it is not known which Pod this is; " + remedy)
	default:
		return nil
	}
}

// ownPodReference returns the owner reference to this replica's Pod. It retries while the API server is
// unavailable. A missing Pod is an error: the Lease would never be released.
func (e *Elector) ownPodReference(ctx context.Context) (*metav1.OwnerReference, error) {
	for {
		pod, err := e.getPod(ctx, e.options.Life.Pod)
		switch {
		case ctx.Err() != nil:
			return nil, nil //nolint:nilerr // the caller has left
		case err != nil:
			e.options.Logger.Error(err, "cannot read this replica's own Pod; retrying",
				"pod", e.options.Namespace+"/"+e.options.Life.Pod, "period", e.options.RetryPeriod)
			e.pause(ctx, jittered(e.options.RetryPeriod))
			continue
		case pod == nil:
			return nil, fmt.Errorf("election for life: there is no Pod %s/%s; %s, and a Lease in the Pod's own namespace", e.options.Namespace, e.options.Life.Pod, remedy)
		case e.options.Life.UID != "" && e.options.Life.UID != pod.UID:
			return nil, fmt.Errorf("election for life: Pod %s/%s is another one by now: this process belongs to one that was deleted", e.options.Namespace, e.options.Life.Pod)
		}
		return &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}, nil
	}
}

// getPod returns a Pod, or nil where there is none. It reads what is stored, not a cache.
func (e *Elector) getPod(ctx context.Context, name string) (*corev1.Pod, error) {
	return withTimeout(ctx, e.options.Clock, e.options.RenewDeadline/2, func(ctx context.Context) (*corev1.Pod, error) {
		pod, err := e.options.Life.Pods.Pods(e.options.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apistatus.IsAbsent(err, corev1.Resource("pods"), name) {
			return nil, nil
		}
		return pod, err
	})
}

// isPod reports whether an owner is a Pod.
func isPod(owner metav1.OwnerReference) bool { return owner.APIVersion == "v1" && owner.Kind == "Pod" }

// podOwner returns the Pod that owns the Lease; nil where none does.
func podOwner(lease *coordinationv1.Lease) *metav1.OwnerReference {
	if lease == nil {
		return nil
	}
	for i := range lease.OwnerReferences {
		if isPod(lease.OwnerReferences[i]) {
			return &lease.OwnerReferences[i]
		}
	}
	return nil
}

// errPodGone means that this replica's own Pod is gone, as after a deletion by force: other replicas assume
// that the process has ended.
var errPodGone = errors.New("this replica's own Pod is gone")

// acquirableIn returns after what time the Lease may be acquired for life: 0 is now, and the retry period where its
// owner still runs. self is this replica's Pod.
func (e *Elector) acquirableIn(ctx context.Context, seen observedLease, self *metav1.OwnerReference) (time.Duration, error) {
	switch {
	case !seen.known:
		return e.options.RetryPeriod, nil
	case seen.owner == nil: // released, or held by a replica that elects by renewal
		return seen.expiresIn(e.options.Clock.Now(), e.options.LeaseDuration), nil
	case seen.owner.UID == self.UID: // the container was restarted
		return 0, nil
	}
	// The garbage collector deletes the Lease with its Pod. Where a user does, the holder creates it again.
	ended, err := e.hasEnded(ctx, *seen.owner)
	if err == nil && ended {
		return 0, nil
	}
	return e.options.RetryPeriod, err
}

// hasEnded reports whether a Pod is gone, or in a phase that is final: the kubelet reports those when the containers
// have ended.
func (e *Elector) hasEnded(ctx context.Context, owner metav1.OwnerReference) (bool, error) {
	pod, err := e.getPod(ctx, owner.Name)
	if err != nil {
		return false, fmt.Errorf("read Pod %s/%s, which leads: %w", e.options.Namespace, owner.Name, err)
	}
	return pod == nil || pod.UID != owner.UID || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded, nil
}

// confirm returns the term while its Lease is this replica's. One that was deleted is created again as long as the Pod
// exists: candidates look at the Pod before they acquire it.
func (e *Elector) confirm(ctx context.Context, t term) (term, error) {
	lease, err := e.getLease(ctx)
	if err == nil && lease == nil {
		owner := podOwner(t.lease)
		ended := owner == nil // a user has taken it out of the Lease
		if !ended {
			ended, err = e.hasEnded(ctx, *owner)
		}
		if err == nil && ended {
			return t, errPodGone
		}
		if err == nil {
			lease, err = e.writeLease(ctx, nil, t.lease.Spec, *owner)
		}
	}
	switch {
	case err != nil:
		return t, err
	case !t.isHeld(e.options.Identity, lease):
		return t, fmt.Errorf("%w: %q", ErrTaken, holder(lease))
	}
	t.lease = lease
	return t, nil
}
