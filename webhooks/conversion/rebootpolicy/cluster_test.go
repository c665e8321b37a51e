// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Both versions have the same fields, so that no object needs an annotation. What no type knows comes back as it was.
func TestAClusterRebootPolicyIsTheSameAtBothVersions(t *testing.T) {
	c := NewCluster()
	for rest, known := range map[string]bool{
		`"metadata":{"name":"a"}`: true,
		`"metadata":{"name":"a"},"spec":{"namespaceSelector":{},"template":{"spec":{"targets":[{"selector":{},"optIn":"Annotation"}],"triggers":[{"name":"config","type":"ConfigChange"}]}}}`:                                           true,
		`"metadata":{"name":"a","annotations":{"b":"c"}},"spec":{"namespaceSelector":{"matchLabels":{"a":"b"}},"template":{"spec":{"targets":[{"kind":"Deployment","name":"x"}],"cooldown":"90m"}}},"status":{"observedGeneration":-1}`: true,
		`"metadata":{"name":"a"},"spec":{"namespaceSelector":{},"unknown":{"a":[1]},"template":{"spec":{"targets":"none"}}},"status":{"policies":3,"refusals":[{"namespace":"n","reason":"WriteRefused","message":"no"}]}`:              false,
	} {
		for from, to := range map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"} {
			object := func(version string) string {
				return `{"apiVersion":"autoreboot.fairlead.dev/` + version + `","kind":"ClusterRebootPolicy",` + rest + "}"
			}
			converted, err := c.Convert([]byte(object(from)), to)
			if err != nil {
				t.Fatalf("%s: %v", rest, err)
			}
			if diff := cmp.Diff(tree(t, []byte(object(to))), tree(t, converted)); known && diff != "" {
				t.Errorf("from %s to %s (-want +got):\n%s", from, to, diff)
			}
			back, err := c.Convert(converted, from)
			if err != nil {
				t.Fatalf("%s: %v", converted, err)
			}
			if diff := cmp.Diff(tree(t, []byte(object(from))), tree(t, back)); diff != "" {
				t.Errorf("from %s to %s and back (-want +got):\n%s", from, to, diff)
			}
		}
	}
}
