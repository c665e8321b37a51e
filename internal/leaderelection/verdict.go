// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decision is whether a lock for life may be taken.
type decision struct {
	allowed bool
	// reason is the reason where the lock is held and may be taken all the same.
	reason string
	// stuck is what keeps a lock that seems to be unused, and what an administrator can do.
	stuck string
}

// canTakeOver says whether the lock may be taken. before is the lock as it was when it last had a holder.
func (e *Elector) canTakeOver(ctx context.Context, seen observedLease, before *metav1.OwnerReference, self *metav1.OwnerReference) (decision, error) {
	owner := podOwner(seen.lease)
	switch {
	case !seen.known:
		return decision{}, nil
	case seen.lease == nil && before != nil && before.UID != self.UID:
		// The garbage collector deletes it when the Pod has gone. Anybody else who does leaves a holder
		// behind, who will make it again.
		return e.canReplacePod(ctx, *before)
	case holder(seen.lease) == "":
		return decision{allowed: true}, nil
	case owner == nil:
		// Of a replica that elects by renewal, and stops by itself.
		return decision{allowed: seen.expiresIn(e.Clock.Now(), e.LeaseDuration) == 0, reason: "it was not renewed"}, nil
	case owner.UID == self.UID:
		return decision{allowed: true, reason: "it is of this very Pod, whose container was restarted"}, nil
	default:
		return e.canReplacePod(ctx, *owner)
	}
}

// canReplacePod says whether a Pod can run again. Where that is unknown, it can.
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

// isHealthy says whether nothing is known against a Pod. The node controller takes the condition Ready
// from the Pods of a node that it does not hear from.
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
