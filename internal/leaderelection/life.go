// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Life is the Pod that this replica runs in, and the clients that read other Pods.
type Life struct {
	// Pods and Nodes are the clients. Pods are read in the namespace of the Lease, which must be that of
	// the Pod: an owner is always in the same namespace.
	Pods  corev1client.PodsGetter
	Nodes corev1client.NodesGetter
	// Pod is the name of the Pod that this process runs in.
	Pod string
	// UID is that of the Pod. Empty means the UID of the Pod that has the name now.
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

// ownPodReference returns the owner reference to this replica's Pod. It retries while the API server is
// unavailable. A missing Pod is an error: the Lease would never be released.
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

// getPod returns a Pod, or nil where there is none. It reads what is stored, not a cache.
func (e *Elector) getPod(ctx context.Context, name string) (*corev1.Pod, error) {
	return withTimeout(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*corev1.Pod, error) {
		pod, err := e.Life.Pods.Pods(e.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apistatus.IsAbsent(err, corev1.Resource("pods"), name) {
			return nil, nil
		}
		return pod, err
	})
}

func (e *Elector) getNode(ctx context.Context, name string) (*corev1.Node, error) {
	return withTimeout(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*corev1.Node, error) {
		node, err := e.Life.Nodes.Nodes().Get(ctx, name, metav1.GetOptions{})
		if apistatus.IsAbsent(err, corev1.Resource("nodes"), name) {
			return nil, nil
		}
		return node, err
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

// decision is whether a Lease for life may be acquired.
type decision struct {
	allowed bool
	// reason is why a Lease that is held may be acquired.
	reason string
	// stuck is why a leader that seems not to work is not replaced, and what an administrator can do.
	stuck string
}

// canTakeOver decides whether the Lease may be acquired. before is its owner when it was last held.
func (e *Elector) canTakeOver(ctx context.Context, seen observedLease, before *metav1.OwnerReference, self *metav1.OwnerReference) (decision, error) {
	owner := podOwner(seen.lease)
	switch {
	case !seen.known:
		return decision{}, nil
	case seen.lease == nil && before != nil && before.UID != self.UID:
		// The garbage collector deletes it once the Pod is gone. Where a user does, the holder creates
		// it again.
		return e.canReplacePod(ctx, *before)
	case holder(seen.lease) == "":
		return decision{allowed: true}, nil
	case owner == nil:
		// Held by a replica that elects by renewal, and stops by itself.
		return decision{allowed: seen.expiresIn(e.Clock.Now(), e.LeaseDuration) == 0, reason: "it was not renewed"}, nil
	case owner.UID == self.UID:
		return decision{allowed: true, reason: "it is of this very Pod, whose container was restarted"}, nil
	default:
		return e.canReplacePod(ctx, *owner)
	}
}

// canReplacePod decides whether a Pod can no longer run. Where that is unknown, it can.
func (e *Elector) canReplacePod(ctx context.Context, owner metav1.OwnerReference) (decision, error) {
	pod, err := e.getPod(ctx, owner.Name)
	if err != nil {
		return decision{}, fmt.Errorf("read Pod %s/%s, which leads: %w", e.Namespace, owner.Name, err)
	}
	switch {
	case pod == nil || pod.UID != owner.UID:
		return decision{allowed: true, reason: "its Pod " + owner.Name + " is gone"}, nil
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		// These phases are final, and the kubelet reports them when the containers have ended.
		return decision{allowed: true, reason: fmt.Sprintf("its Pod %s has ended: %s", owner.Name, endReason(pod))}, nil
	case isHealthy(pod) || pod.Spec.NodeName == "":
		return decision{}, nil
	}
	node, err := e.getNode(ctx, pod.Spec.NodeName)
	if err != nil {
		return decision{}, fmt.Errorf("read Node %s of Pod %s/%s, which leads: %w", pod.Spec.NodeName, e.Namespace, owner.Name, err)
	}
	leaving := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodUnknown
	switch {
	case leaving && node == nil:
		return decision{allowed: true, reason: fmt.Sprintf("Node %s of its Pod %s is gone", pod.Spec.NodeName, owner.Name)}, nil
	case leaving && slices.ContainsFunc(node.Spec.Taints, isOutOfService):
		return decision{allowed: true, reason: fmt.Sprintf("Node %s of its Pod %s is out of service", node.Name, owner.Name)}, nil
	case node != nil && !isNodeReady(node):
		return decision{stuck: fmt.Sprintf(
			"Node %s is not ready, and Pod %s may still run on it: no other replica leads until that is certain. Once the machine is off: kubectl delete pod %s -n %s, and kubectl taint node %s %s=nodeshutdown:NoExecute",
			node.Name, owner.Name, owner.Name, e.Namespace, node.Name, corev1.TaintNodeOutOfService)}, nil
	case pod.DeletionTimestamp != nil && e.Clock.Now().After(pod.DeletionTimestamp.Add(time.Minute)):
		return decision{stuck: fmt.Sprintf(
			"Pod %s should have ended at %s and may still run: no other replica leads until that is certain. See kubectl describe pod %s -n %s",
			owner.Name, pod.DeletionTimestamp.UTC().Format(time.RFC3339), owner.Name, e.Namespace)}, nil
	}
	return decision{}, nil
}

func endReason(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return pod.Status.Reason // such as Evicted
	}
	return string(pod.Status.Phase)
}

// isHealthy reports whether nothing indicates a problem of a Pod. The node controller removes the condition
// Ready from the Pods of a node that stops reporting.
func isHealthy(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodUnknown {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func isNodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func isOutOfService(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeOutOfService }
