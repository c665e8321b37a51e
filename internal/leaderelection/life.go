// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// lifeDurationSeconds is the duration that a lock for life says of itself, in seconds: 68 years. A replica that
// elects by renewal thus never takes it, and both kinds exclude each other while one replaces the other.
const lifeDurationSeconds = math.MaxInt32

// Life is the Pod that this replica runs in, and how other Pods are looked at.
type Life struct {
	// Pods and Nodes are the clients. Pods are read in the namespace of the Lease, which must be that
	// of the Pod: an owner is always one of the same namespace.
	Pods  corev1client.PodsGetter
	Nodes corev1client.NodesGetter
	// Pod is the name of the Pod that this process runs in.
	Pod string
	// UID is that of the Pod. Empty means that of the Pod which has the name now.
	UID types.UID
}

// remedy is what to do where there is no Pod.
const remedy = "leadership for life goes with the Pod: run as one, with POD_NAME, POD_NAMESPACE and POD_UID from its fields, or elect with --leader-elect-mode=lease"

func (l *Life) validate() error {
	switch {
	case l == nil:
		return nil
	case l.Pods == nil || l.Nodes == nil:
		return errors.New("election for life: no client of Pods and Nodes")
	case l.Pod == "":
		return errors.New("election for life: it is not known which Pod this is; " + remedy)
	default:
		return nil
	}
}

// ownPodReference returns the reference by which the lock goes with this Pod. It retries while the API server is
// away. A Pod that is not there is an error: nothing would ever release the lock.
func (e *Elector) ownPodReference(ctx context.Context) (*metav1.OwnerReference, error) {
	for {
		pod, err := e.getPod(ctx, e.Life.Pod)
		switch {
		case ctx.Err() != nil:
			return nil, nil //nolint:nilerr // the caller has left
		case err != nil:
			e.Logger.Error(err, "cannot read this replica's own Pod; retrying", "pod", e.Namespace+"/"+e.Life.Pod, "period", e.RetryPeriod)
			e.pause(ctx, jittered(e.RetryPeriod))
			continue
		case pod == nil:
			return nil, fmt.Errorf("election for life: there is no Pod %s/%s; %s, and a Lease in the Pod's own namespace", e.Namespace, e.Life.Pod, remedy)
		case e.Life.UID != "" && e.Life.UID != pod.UID:
			return nil, fmt.Errorf("election for life: Pod %s/%s is another one by now: this process belongs to one that was deleted", e.Namespace, e.Life.Pod)
		}
		return &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}, nil
	}
}

// getPod reads a Pod; nil where there is none. It asks for what is stored, not for what a cache holds.
func (e *Elector) getPod(ctx context.Context, name string) (*corev1.Pod, error) {
	return withTimeout(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*corev1.Pod, error) {
		pod, err := e.Life.Pods.Pods(e.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return pod, err
	})
}

func (e *Elector) getNode(ctx context.Context, name string) (*corev1.Node, error) {
	return withTimeout(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*corev1.Node, error) {
		node, err := e.Life.Nodes.Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return node, err
	})
}

// isPod says whether an owner is a Pod.
func isPod(owner metav1.OwnerReference) bool { return owner.APIVersion == "v1" && owner.Kind == "Pod" }

// podOwner is the Pod that a lock goes with, nil where it goes with none.
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
