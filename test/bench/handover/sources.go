// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// sourcesPolicies is how many RebootPolicies there are, each with a Deployment that takes a Secret and a ConfigMap.
	sourcesPolicies = 200
	// secretSize and configMapSize are bytes of content.
	secretSize    = 20_000
	configMapSize = 2_000
	// sourcesNamespace has all of it.
	sourcesNamespace = "sources"
)

// sources measures the memory with very many Secrets and ConfigMaps, beside the memory with only those that the
// policies restart workloads for. All of them are watched.
func (r *run) sources(ctx context.Context) ([]Row, error) {
	r.patience = fleetPatience
	rights := filepath.Join(r.options.Root, "config", "watch-secrets", "cluster_role.yaml")
	if err := r.stage.KubectlIO(ctx, nil, io.Discard, r.options.Output, "apply", "--server-side", "-f", rights); err != nil {
		return nil, err
	}
	api := r.stage.Kube
	if err := r.makePolicies(ctx, api); err != nil {
		return nil, fmt.Errorf("make %d policies: %w", sourcesPolicies, err)
	}
	if err := makeSources(ctx, api, 0, sourcesPolicies, sourcesPolicies); err != nil {
		return nil, err
	}
	watching := ours(r.stage, "--set=webhook.enabled=false", "--set=rebootPolicies.sources=Watch")
	few, err := r.atRest(ctx, "few Secrets", watching)
	if err != nil {
		return nil, err
	}
	if err := makeSources(ctx, api, sourcesPolicies, r.options.Secrets, r.options.ConfigMaps); err != nil {
		return nil, fmt.Errorf("make %d Secrets and %d ConfigMaps: %w", r.options.Secrets, r.options.ConfigMaps, err)
	}
	many, err := r.atRest(ctx, "many Secrets", watching)
	if err != nil {
		return nil, err
	}
	return []Row{
		memoryRow("sources-memory-peak", "", many.usage.Peak, few.usage.Peak),
		memoryRow("sources-memory-settled", "< 150 more", many.usage.Memory, few.usage.Memory),
	}, nil
}

// makeSources makes Secrets and ConfigMaps of random content, from a number on up to others.
func makeSources(ctx context.Context, api kubernetes.Interface, from, secrets, configMaps int) error {
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(fleetWriters)
	for i := from; i < max(secrets, configMaps) && ctx.Err() == nil; i++ {
		making.Go(func() error {
			meta := metav1.ObjectMeta{Name: fmt.Sprintf("source-%d", i)}
			if i < secrets {
				content := bytes.Repeat([]byte{"0123456789abcdef"[i%16]}, secretSize)
				secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"content": content}}
				if _, err := api.CoreV1().Secrets(sourcesNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			if i < configMaps {
				configMap := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"content": fmt.Sprintf("%0*d", configMapSize, i)}}
				if _, err := api.CoreV1().ConfigMaps(sourcesNamespace).Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return making.Wait()
}

// makePolicies makes the policies and their Deployments, by way of the webhooks of a replica.
func (r *run) makePolicies(ctx context.Context, api kubernetes.Interface) error {
	replica, err := r.stage.StartReplica(ctx)
	if err != nil {
		return err
	}
	defer r.stage.Retire(replica)
	if err := r.stage.Reachable(ctx); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sourcesNamespace}}
	if _, err := api.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i := range sourcesPolicies {
		name := fmt.Sprintf("source-%d", i)
		labels := map[string]string{"app": name}
		takes := corev1.LocalObjectReference{Name: name}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "none", EnvFrom: []corev1.EnvFromSource{
					{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: takes}}, {ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: takes}},
				},
			}}}},
		}}
		if _, err := api.AppsV1().Deployments(sourcesNamespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
			return err
		}
		body := fmt.Appendf(nil, `{"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "RebootPolicy", "metadata": {"name": %[1]q},
			"spec": {"targets": [{"kind": "Deployment", "name": %[1]q}], "triggers": [{"name": "config", "type": "ConfigChange", "configChange": {}}]}}`, name)
		err := api.Discovery().RESTClient().Post().AbsPath("/apis/autoreboot.fairlead.dev/v1/namespaces", sourcesNamespace, "rebootpolicies").
			SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		if err != nil {
			return err
		}
	}
	return nil
}
