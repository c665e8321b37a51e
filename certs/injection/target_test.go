// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestThePatchOwnsTheBundleAndNothingElse(t *testing.T) {
	for title, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"CRD": {
			newCRD("foos.x.dev"),
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.x.dev","resourceVersion":"1","uid":"uid"},"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"Yg=="}}}}}`,
		},
		"mutating": {
			newWebhooks(mutatingKind, "m", "a", "b"),
			`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"m","resourceVersion":"1","uid":"uid"},"webhooks":[{"clientConfig":{"caBundle":"Yg=="},"name":"a"},{"clientConfig":{"caBundle":"Yg=="},"name":"b"}]}`,
		},
		"validating": {
			newWebhooks(validatingKind, "v", "a"),
			`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"v","resourceVersion":"1","uid":"uid"},"webhooks":[{"clientConfig":{"caBundle":"Yg=="},"name":"a"}]}`,
		},
	} {
		t.Run(title, func(t *testing.T) {
			target := targetOf(t, test.object)
			slots, err := target.kind.slots(test.object)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(target.patch(test.object, slots, []byte("b")).Object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATargetWithoutAPlaceForTheBundleIsAnError(t *testing.T) {
	none := newCRD("foos.x.dev")
	none.Object["spec"] = withVersions("None", true, true)
	bare := newCRD("foos.x.dev")
	delete(bare.Object, "spec")
	mistyped := newWebhooks(mutatingKind, "m")
	mistyped.Object["webhooks"] = "none"
	for title, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"strategy None": {none, `strategy "None"`},
		"no conversion": {bare, `strategy ""`},
		"no webhooks":   {newWebhooks(mutatingKind, "m"), "has no webhooks"},
		"mistyped":      {mistyped, "webhooks"},
	} {
		if _, err := targetOf(t, test.object).kind.slots(test.object); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// withVersions is the spec of a CRD of so many versions, each served or not.
func withVersions(strategy string, served ...bool) map[string]any {
	versions := make([]any, 0, len(served))
	for _, served := range served {
		versions = append(versions, map[string]any{"served": served})
	}
	return map[string]any{"conversion": map[string]any{"strategy": strategy}, "versions": versions}
}

func TestACRDThatServesOneVersionNeedsNoBundle(t *testing.T) {
	for name, c := range map[string]struct {
		served []bool
		needs  bool
	}{"one": {[]bool{true}, false}, "one of two": {[]bool{true, false}, false}, "two": {[]bool{true, true}, true}} {
		crd := newCRD("foos.x.dev")
		crd.Object["spec"] = withVersions("None", c.served...)
		client, bundle := newCluster(crd), newBundle(t)
		injector, err := New(Options{Client: client, CRDs: []string{"foos.x.dev"}, PublishTimeout: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := injector.Publish(t.Context(), bundle); (err != nil) != c.needs {
			t.Errorf("%s: published: %v", name, err)
		}
		if err := injector.Observed(t.Context(), bundle); (err != nil) != c.needs {
			t.Errorf("%s: observed: %v", name, err)
		}
		if err := injector.Missing(); (err != nil) != c.needs {
			t.Errorf("%s: missing: %v", name, err)
		}
		if n := patches(client); n != 0 {
			t.Errorf("%s: written %d times", name, n)
		}
	}
}

func TestJudge(t *testing.T) {
	bundle, other := newBundle(t), newBundle(t)
	both := slices.Concat(other, bundle)
	webhooks := func() *unstructured.Unstructured {
		return newWebhooks(mutatingKind, "m", "a.x.dev", "b.x.dev")
	}
	annotated := func(object *unstructured.Unstructured) *unstructured.Unstructured {
		object.SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from": "ns/name"})
		return object
	}
	mixed := withBundle(t, webhooks(), bundle, "helm")
	mixed.Object["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = encoded([]byte("\n"))
	half := withBundle(t, webhooks(), other, "helm")
	half.Object["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = ""
	for title, test := range map[string]struct {
		object *unstructured.Unstructured
		want   action
	}{
		"unset":                             {webhooks(), replace},
		"a line feed of another owner":      {withBundle(t, webhooks(), []byte("\n"), "kubectl"), replace},
		"equal":                             {withBundle(t, webhooks(), bundle, "helm"), leave},
		"equal but one blank":               {mixed, replace},
		"another's and one blank":           {half, apply},
		"another's":                         {withBundle(t, webhooks(), other, "helm"), apply},
		"another's that trusts ours too":    {withBundle(t, webhooks(), both, "helm"), apply},
		"our former one":                    {withBundle(t, webhooks(), other, FieldOwner), replace},
		"our former one in a CRD":           {withBundle(t, newCRD("foos.x.dev"), other, FieldOwner), replace},
		"another's in a CRD":                {withBundle(t, newCRD("foos.x.dev"), other, "helm"), apply},
		"cert-manager's, not there yet":     {annotated(webhooks()), foreign},
		"cert-manager's, another authority": {annotated(withBundle(t, webhooks(), other, "cert-manager-cainjector")), foreign},
		"cert-manager's, ours":              {annotated(withBundle(t, webhooks(), bundle, "cert-manager-cainjector")), leave},
		"cert-manager's, ours among others": {annotated(withBundle(t, webhooks(), both, "cert-manager-cainjector")), leave},
	} {
		t.Run(title, func(t *testing.T) {
			kind := targetOf(t, test.object).kind
			slots, err := kind.slots(test.object)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := decide(kind, test.object, slots, bundle); got != test.want {
				t.Errorf("action %d, want %d", got, test.want)
			}
		})
	}
}
