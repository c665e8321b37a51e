// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// reconcilers is the Deployment of ../manager as ../split patches it.
func reconcilers(t *testing.T) appsv1.DeploymentSpec {
	t.Helper()
	var content [2][]byte
	for i, path := range []string{"manager/deployment.yaml", "split/reconcilers/deployment.yaml"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if content[i], err = yaml.YAMLToJSON(raw); err != nil {
			t.Fatal(err)
		}
	}
	patched, err := strategicpatch.StrategicMergePatch(content[0], content[1], appsv1.Deployment{})
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := json.Unmarshal(patched, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec
}

func TestSplitOneDeploymentServesAndTheOtherReconciles(t *testing.T) {
	for path, want := range map[string]struct {
		d                     appsv1.DeploymentSpec
		webhooks, controllers bool
	}{
		"together":           {deployment(t, "manager/deployment.yaml"), true, true},
		"split, webhooks":    {deployment(t, "split/webhook_deployment.yaml"), true, false},
		"split, reconcilers": {reconcilers(t), false, true},
	} {
		container := want.d.Template.Spec.Containers[0]
		c := shipped(t, container.Args...)
		if c.Webhook.Enabled != want.webhooks || c.Controllers.Enabled != want.controllers {
			t.Errorf("%s: webhooks %t, controllers %t", path, c.Webhook.Enabled, c.Controllers.Enabled)
		}
		checkPorts(t, want.d)
		checkServices(t, want.d, map[string]string{"manager/metrics_service.yaml": "metrics"})
		var service corev1.Service
		read(t, "manager/webhook_service.yaml", &service)
		if leads := labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(want.d.Template.Labels)); leads != want.webhooks {
			t.Errorf("%s: the webhooks' Service leads there: %t", path, leads)
		}
	}
}

// The Service must lead to the replicas of both ways to deploy, or going from one to the other would
// leave it without any.
func TestTheServiceOfTheWebhooksNamesNoDeployment(t *testing.T) {
	var service corev1.Service
	read(t, "manager/webhook_service.yaml", &service)
	if diff := cmp.Diff(map[string]string{"app.kubernetes.io/name": "fairlead", "fairlead.dev/webhooks": "true"}, service.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
}

func TestSplitTheWebhooksRunAsTheyDoTogether(t *testing.T) {
	together, split := deployment(t, "manager/deployment.yaml"), deployment(t, "split/webhook_deployment.yaml")
	diff := cmp.Diff(together, split,
		cmpopts.IgnoreFields(corev1.PodSpec{}, "ServiceAccountName", "DeprecatedServiceAccount"),
		cmpopts.IgnoreFields(corev1.Container{}, "Name", "Args"),
		// These name the Deployment.
		cmp.Transformer("labels", func(map[string]string) map[string]string { return nil }),
		// The lock for life is owned by its holder's Pod.
		cmpopts.IgnoreSliceElements(func(e corev1.EnvVar) bool { return e.Name == "POD_UID" }),
	)
	if diff != "" {
		t.Errorf("-together +split:\n%s", diff)
	}
	for _, s := range split.Template.Spec.TopologySpreadConstraints {
		selects(t, "topologySpreadConstraints", s.LabelSelector, split)
	}
	if labels.SelectorFromSet(together.Selector.MatchLabels).Matches(labels.Set(split.Template.Labels)) {
		t.Error("each Deployment would take the other's pods for its own")
	}
}

func TestSplitReconcilersRollOutAsTogether(t *testing.T) {
	together, split := deployment(t, "manager/deployment.yaml"), reconcilers(t)
	if diff := cmp.Diff(together, split,
		cmpopts.IgnoreFields(corev1.Container{}, "Args", "Ports"),
		cmpopts.IgnoreFields(corev1.PodSpec{}, "TerminationGracePeriodSeconds"),
		cmpopts.IgnoreMapEntries(func(key, _ string) bool { return key == "fairlead.dev/webhooks" }),
	); diff != "" {
		t.Errorf("-together +split:\n%s", diff)
	}
	// Components add arguments to both.
	if args := together.Template.Spec.Containers[0].Args; !slices.Equal(args, split.Template.Spec.Containers[0].Args[:len(args)]) {
		t.Errorf("arguments %q do not begin with %q", split.Template.Spec.Containers[0].Args, args)
	}
}
