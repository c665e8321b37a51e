// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

var resources = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition":     {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	"MutatingWebhookConfiguration": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	"Service":                      {Version: "v1", Resource: "services"},
}

// inCluster are the objects that a template finds by lookup.
type inCluster struct{ *fake.FakeDynamicClient }

func (c inCluster) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c.Resource(resources[kind]), kind == "Service", nil
}

// calling is an object of a kind that calls a Service of a release.
func calling(kind, name, namespace string, watched ...any) *unstructured.Unstructured {
	client := map[string]any{"service": map[string]any{"namespace": namespace, "name": "fairlead-webhook"}}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": client}}}}}
	if kind == "MutatingWebhookConfiguration" {
		terms := []any{map[string]any{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": []any{"kube-system"}}}
		if watched != nil {
			terms = append(terms, map[string]any{"key": "kubernetes.io/metadata.name", "operator": "In", "values": watched})
		}
		o.Object = map[string]any{"webhooks": []any{map[string]any{"clientConfig": client, "namespaceSelector": map[string]any{"matchExpressions": terms}}}}
	}
	o.SetGroupVersionKind(resources[kind].GroupVersion().WithKind(kind))
	o.SetName(name)
	o.SetLabels(map[string]string{"app.kubernetes.io/name": "fairlead"})
	return o
}

// serviceOf is the Service of a release's webhooks.
func serviceOf(release, namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	o.SetName("fairlead-webhook")
	o.SetNamespace(namespace)
	if release != "" {
		o.SetAnnotations(map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace})
	}
	return o
}

// renderIn renders the chart as the release fl in the namespace own of a cluster with these objects.
func renderIn(t *testing.T, values map[string]any, objects ...runtime.Object) error {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	for kind, resource := range resources {
		lists[resource] = kind + "List"
	}
	chart, err := loader.Load(generated(t))
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "fl", Namespace: "own", Revision: 1}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.RenderWithClientProvider(chart, rendered, inCluster{fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)})
	return err
}

// The release fl in the namespace own is installed or upgraded in a cluster with these objects.
func TestASecondInstallationInAClusterIsRefused(t *testing.T) {
	const crd = "rebootpolicies.autoreboot.fairlead.dev"
	v1Only := func(prefix string, namespaces ...any) map[string]any {
		return map[string]any{"fullnameOverride": prefix + "fairlead", "v1Only": true, "namespaces": namespaces, "crds": map[string]any{"enabled": false}}
	}
	for name, test := range map[string]struct {
		objects []runtime.Object
		values  map[string]any
		refused string
	}{
		"an empty cluster":         {nil, nil, ""},
		"its own":                  {[]runtime.Object{calling("CustomResourceDefinition", crd, "own"), calling("MutatingWebhookConfiguration", "a", "own"), serviceOf("fl", "own")}, nil, ""},
		"its own of another name":  {[]runtime.Object{calling("CustomResourceDefinition", crd, "own"), serviceOf("fl", "own")}, map[string]any{"fullnameOverride": "team-fairlead"}, ""},
		"kustomize's, taken over":  {[]runtime.Object{calling("CustomResourceDefinition", crd, "own"), serviceOf("", "own")}, nil, ""},
		"a release that moved":     {[]runtime.Object{calling("CustomResourceDefinition", crd, "old")}, nil, ""},
		"another release":          {[]runtime.Object{calling("CustomResourceDefinition", crd, "old"), serviceOf("fl", "old")}, nil, "CustomResourceDefinition " + crd + " calls its Service old/fairlead-webhook"},
		"another one by kustomize": {[]runtime.Object{calling("CustomResourceDefinition", crd, "old"), serviceOf("", "old")}, map[string]any{"crds": map[string]any{"enabled": false}}, "CustomResourceDefinition"},
		"webhooks for all":         {[]runtime.Object{calling("MutatingWebhookConfiguration", "a", "old"), serviceOf("fl", "old")}, v1Only("b-", "shop"), "MutatingWebhookConfiguration a"},
		"webhooks for the same":    {[]runtime.Object{calling("MutatingWebhookConfiguration", "a", "old", "shop"), serviceOf("fl", "old")}, v1Only("b-", "bank", "shop"), "MutatingWebhookConfiguration a"},
		"webhooks for one of all":  {[]runtime.Object{calling("MutatingWebhookConfiguration", "a", "old", "shop"), serviceOf("fl", "old")}, v1Only("b-"), "MutatingWebhookConfiguration a"},
		"webhooks for others":      {[]runtime.Object{calling("MutatingWebhookConfiguration", "a", "old", "shop"), serviceOf("fl", "old")}, v1Only("b-", "bank"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := renderIn(t, test.values, test.objects...)
			if refused := err != nil; refused != (test.refused != "") || refused && (!strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), "another installation of Fairlead is in this cluster")) {
				t.Errorf("%v, want %q", err, test.refused)
			}
		})
	}
}

// A write of the status alone takes out of a stored object what the CRD lacks.
func TestCRDsOfAChartThatIsTooOldAreRefused(t *testing.T) {
	for version, refused := range map[string]bool{
		"0.0.9": true, "v0.0.9": true, "v0.0.9-rc.1": true, "v0.1.0": false, "0.1.0-rc.1": false, "1.10.0": false,
		"0.0.0": false, "v0.0.0-check": false, "main": false, "": false,
	} {
		crd := calling("CustomResourceDefinition", "chaospods.chaos.fairlead.dev", "own")
		crd.SetLabels(map[string]string{"app.kubernetes.io/version": version})
		const words = "CustomResourceDefinition chaospods.chaos.fairlead.dev is of chart "
		err := renderIn(t, nil, crd, serviceOf("fl", "own"))
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), words+version+", and this one upgrades from 0.1.0 on") {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// Its objects would stay, and nothing would take off the finalizers of ExternalServices.
func TestAKindIsNotLeftOutWhileItsCRDIsInTheCluster(t *testing.T) {
	const crd = "externalservices.networking.fairlead.dev"
	own, foreign := calling("CustomResourceDefinition", crd, "own"), calling("CustomResourceDefinition", crd, "old")
	unconverted := calling("CustomResourceDefinition", crd, "own")
	unstructured.RemoveNestedField(unconverted.Object, "spec")
	unconverted.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "fl", "meta.helm.sh/release-namespace": "own"})
	without := map[string]any{"kinds": []any{"RebootPolicy", "ChaosPod"}}
	for name, object := range map[string]runtime.Object{"converted": own, "v1 alone": unconverted} {
		if err := renderIn(t, without, object); err == nil || !strings.Contains(err.Error(), "kubectl delete crd "+crd) {
			t.Errorf("%s: %v", name, err)
		}
		if err := renderIn(t, nil, object); err != nil {
			t.Errorf("%s, with the kind: %v", name, err)
		}
	}
	for name, object := range map[string]runtime.Object{
		"another's": foreign, "of another kind": calling("CustomResourceDefinition", "chaospods.chaos.fairlead.dev", "own"),
	} {
		if err := renderIn(t, without, object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
