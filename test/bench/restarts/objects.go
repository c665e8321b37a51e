// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// namespaces that the objects are spread over.
	namespaces = 10
	// writers that make and change objects.
	writers = 8
	// measured is the label of all objects that are followed.
	measured = "restarts"
)

// policyOf a workload, and the namespace of a policy.
func (r *run) policyOf(workload int) int  { return workload / r.options.Targets }
func (r *run) policies() int              { return r.policyOf(r.options.Workloads-1) + 1 }
func namespaceOf(policy int) string       { return fmt.Sprintf("restarts-%d", policy%namespaces) }
func (r *run) home(workload int) string   { return namespaceOf(r.policyOf(workload)) }
func name(workload int) string            { return fmt.Sprintf("workload-%d", workload) }
func secret(workload, number int) string  { return fmt.Sprintf("secret-%d-%d", workload, number) }
func policyName(policy int) string        { return fmt.Sprintf("policy-%d", policy) }
func (r *run) key(workload int) string    { return r.home(workload) + "/" + name(workload) }
func content(generation, size int) []byte { return fmt.Appendf(nil, "%0*d", size, generation) }

// populate makes the workloads with their Secrets, and waits until all of them run.
func (r *run) populate(ctx context.Context) error {
	for i := range min(namespaces, r.policies()) {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}}
		if _, err := r.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := each(ctx, r.options.Workloads, writers, r.make); err != nil {
		return err
	}
	return r.until(ctx, pace, func() (bool, error) { return r.board.finished(r.options.Workloads), nil })
}

func (r *run) make(ctx context.Context, workload int) error {
	var from []corev1.EnvFromSource
	for i := range perWorkload {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret(workload, i)}, Data: map[string][]byte{"token": content(0, 1000)}}
		if _, err := r.client.CoreV1().Secrets(r.home(workload)).Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
		from = append(from, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: made.Name}}})
	}
	labels := map[string]string{"app": name(workload)}
	made := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name(workload), Labels: map[string]string{measured: policyName(r.policyOf(workload))}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: ptr.To(false),
					Containers:                   []corev1.Container{{Name: "main", Image: "none", EnvFrom: from}},
				},
			},
		},
	}
	_, err := r.client.AppsV1().Deployments(r.home(workload)).Create(ctx, made, metav1.CreateOptions{})
	return err
}

// govern makes a policy for its workloads.
func (r *run) govern(ctx context.Context, policy int) error {
	body := fmt.Sprintf(`{"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "RebootPolicy",
		"metadata": {"name": %[1]q, "labels": {%[2]q: %[1]q}},
		"spec": {"targets": [{"kind": "Deployment", "selector": {"matchLabels": {%[2]q: %[1]q}}}],
			"triggers": [{"name": "config", "type": "ConfigChange", "configChange": {}}],
			"debounce": {"quietPeriod": %[3]q}, "cooldown": "0s", "concurrency": {"maxTargets": %[4]d},
			"verification": {"soak": "0s"}}}`, policyName(policy), measured, quiet, perPolicy)
	return r.client.Discovery().RESTClient().Post().
		AbsPath("/apis/autoreboot.fairlead.dev/v1/namespaces", namespaceOf(policy), "rebootpolicies").
		SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Error()
}

// change gives the Secrets of a workload, up to a number, other content.
func (r *run) change(ctx context.Context, workload, secrets, generation int) error {
	for i := range secrets {
		body := fmt.Appendf(nil, `{"stringData": {"token": %q}}`, content(generation, 1000))
		_, err := r.client.CoreV1().Secrets(r.home(workload)).Patch(ctx, secret(workload, i), types.MergePatchType, body, metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// each does something for 0 to n-1 in this order, so many at once, and ends with the first error.
func each(ctx context.Context, n, workers int, do func(context.Context, int) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	numbers := make(chan int)
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			for i := range numbers {
				if err := do(ctx, i); err != nil {
					fail(err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		numbers <- i
	}
	close(numbers)
	work.Wait()
	return context.Cause(ctx)
}
