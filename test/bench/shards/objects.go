// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/bench/handover"
	"github.com/fairlead-dev/fairlead/test/bench/probes"
	"github.com/fairlead-dev/fairlead/test/bench/process"
)

const (
	// perNamespace is how many Deployments a namespace has, with one RebootPolicy.
	perNamespace = 3
	workloads    = handover.FleetNamespaces * perNamespace
	// secretKey of the Secret of a Deployment.
	secretKey = "token"
)

func namespace(n int) string { return handover.FleetNamespace(n % handover.FleetNamespaces) }
func workload(n int) string  { return fmt.Sprintf("workload-%d", n) }

// object is an ExternalService: the first ones publish and check their addresses, the others are suspended.
func (r *run) object(n int) map[string]any {
	made := handover.FleetObject(n)
	if n < r.options.Checked {
		made["spec"] = map[string]any{
			"service":     map[string]any{"type": "Headless"},
			"ports":       []any{map[string]any{"name": "main", "port": r.fleet.Port()}},
			"endpoints":   []any{map[string]any{"name": "all", "addresses": probes.Own(n)}},
			"healthCheck": map[string]any{"tcpSocket": map[string]any{}, "interval": "10s"},
		}
	}
	return made
}

// populate makes all objects while one leader reconciles them, waits until it has nothing more to do, and stops it: those
// that are measured find all of it published. The memory of that leader is read before there are objects.
func (r *run) populate(ctx context.Context) error {
	l, err := r.start(ctx, "")
	if err != nil {
		return err
	}
	if err := r.within(ctx, "start a leader", time.Second, func() (bool, error) { return l.Started(ctx) == nil, nil }); err != nil {
		return err
	}
	if err := pause(ctx, rest); err != nil {
		return err
	}
	used, err := process.UsageOf(l.PID())
	if err != nil {
		return err
	}
	r.empty = used.Memory
	r.say("a leader without objects: %.1f MiB", r.empty/mebi)
	if err := handover.Fill(ctx, r.stage, r.options.Objects, r.object, r.options.Output); err != nil {
		return err
	}
	for n := range workloads {
		if err := r.deploy(ctx, n); err != nil {
			return err
		}
	}
	for n := range handover.FleetNamespaces {
		if err := r.govern(ctx, n); err != nil {
			return err
		}
	}
	if r.view, err = newView(ctx, r.stage.Kube); err != nil {
		return err
	}
	addresses := r.options.Checked * probes.PerObject
	err = r.within(ctx, "publish and check", time.Second, func() (bool, error) {
		return r.view.ready() == addresses && r.fleet.Seen() == addresses, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%d of %d addresses ready)", err, r.view.ready(), addresses)
	}
	if err := r.within(ctx, "take baselines", time.Second, func() (bool, error) { return r.known(ctx) }); err != nil {
		return err
	}
	if err := r.settle(ctx, l, 2*patience); err != nil {
		return err
	}
	r.stop(l)
	return nil
}

// deploy makes a Deployment and its Secret.
func (r *run) deploy(ctx context.Context, n int) error {
	name := workload(n)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{secretKey: []byte("0")}}
	if _, err := r.stage.Kube.CoreV1().Secrets(namespace(n)).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"restart": "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{AutomountServiceAccountToken: ptr.To(false), Containers: []corev1.Container{{
					Name: "main", Image: "none",
					EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
				}}},
			},
		},
	}
	_, err := r.stage.Kube.AppsV1().Deployments(namespace(n)).Create(ctx, deployment, metav1.CreateOptions{})
	return err
}

// govern makes a RebootPolicy for the Deployments of a namespace.
func (r *run) govern(ctx context.Context, n int) error {
	const policy = `{"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "RebootPolicy", "metadata": {"name": "restart"}, "spec": {
		"targets": [{"kind": "Deployment", "selector": {"matchLabels": {"restart": "true"}}}],
		"triggers": [{"name": "config", "type": "ConfigChange", "configChange": {}}],
		"debounce": {"quietPeriod": "1s"}, "cooldown": "0s", "concurrency": {"maxTargets": 3}, "verification": {"soak": "0s"}, "limit": {"maxRestarts": 100, "within": "1h"}}}`
	return r.stage.Kube.Discovery().RESTClient().Post().
		AbsPath("/apis/autoreboot.fairlead.dev/v1/namespaces", namespace(n), "rebootpolicies").
		SetHeader("Content-Type", "application/json").Body([]byte(policy)).Do(ctx).Error()
}

// known is whether all Deployments run and their policies have a baseline for each Secret.
func (r *run) known(ctx context.Context) (bool, error) {
	var list autorebootv1.RebootPolicyList
	if err := r.stage.Client.List(ctx, &list); err != nil {
		return false, err
	}
	baselines := 0
	for i := range list.Items {
		for j := range list.Items[i].Status.Targets {
			baselines += len(list.Items[i].Status.Targets[j].Baselines)
		}
	}
	if baselines < workloads {
		return false, nil
	}
	for n := range workloads {
		d, err := r.view.deployment(n)
		if err != nil || rolling(d) {
			return false, err
		}
	}
	return true, nil
}
