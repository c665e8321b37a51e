// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NextReplica is the identity that the next replica will have.
func (c *Cluster) NextReplica() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "replica-" + strconv.Itoa(c.started+1)
}

// NodeOf is the Node of a replica's Pod.
func NodeOf(replica string) string { return "of-" + replica }

// CreatePod makes a Pod for a replica, and a Node that it runs on. No kubelet looks after them: what happens
// to them is what the caller does.
func CreatePod(ctx context.Context, c client.Client, replica string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeOf(replica)}}
	if err := c.Create(ctx, node); err != nil {
		return err
	}
	// Patched: controllers have begun to write to it.
	before, now := node.DeepCopy(), metav1.NewTime(time.Now())
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Test", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	if err := c.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: replica},
		Spec: corev1.PodSpec{
			NodeName: node.Name, AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{Name: "manager", Image: "fairlead", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
	// Its ServiceAccount is made by a controller.
	if err := Eventually(ctx, time.Minute, func(ctx context.Context) error { return c.Create(ctx, pod) }); err != nil {
		return fmt.Errorf("make the Pod of %s: %w", replica, err)
	}
	unborn := pod.DeepCopy()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return c.Status().Patch(ctx, pod, client.MergeFrom(unborn))
}

// DeletePod deletes the Pod of a replica as a kubelet does once its containers have ended, and its Node.
// What is gone already is no error.
func DeletePod(ctx context.Context, c client.Client, replica string) error {
	return errors.Join(
		client.IgnoreNotFound(c.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: replica}}, client.GracePeriodSeconds(0))),
		client.IgnoreNotFound(c.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeOf(replica)}})),
	)
}
