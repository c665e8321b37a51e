// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestOfAnObjectItsBundlesAreKept(t *testing.T) {
	for manifest, want := range map[string][]string{
		`{kind: CustomResourceDefinition, spec: {versions: [{name: v1}], conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: YQ==}}}}}`: {"YQ=="},
		`{kind: MutatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {caBundle: YQ==}}, {name: b, clientConfig: {}}]}`:                     {"YQ==", ""},
		`{kind: CustomResourceDefinition, spec: {versions: [{name: v1}]}}`:                                                                             {},
	} {
		var object any = &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.(*unstructured.Unstructured).Object); err != nil {
			t.Fatal(err)
		}
		for range 2 { // as an informer does
			var err error
			if object, err = onlyBundles(object); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := unstructured.NestedStringSlice(object.(*unstructured.Unstructured).Object, bundlesOf)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q (%v)", manifest, got, want, err)
		}
	}
}
