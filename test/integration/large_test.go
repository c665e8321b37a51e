// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// What kubectl get gave at v1alpha1 can be written back with kubectl replace, again and again, where the
// object is as large as it may be: 100 workloads of eight sources each, 1,000 addresses, 500 values of a selector.
// kubectl copies what it writes, the status included, into an annotation of its own.
func TestAnOldExportOfALargeObjectCanBeReplaced(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	object := func(manifest string) {
		s.Helper()
		o := &unstructured.Unstructured{}
		s.Must(json.Unmarshal([]byte(manifest), &o.Object))
		o.SetNamespace(s.Namespace)
		s.Must(s.Client.Create(s.Context(), o))
	}
	const sources, targets = 8, 100
	var taken []any
	for i := range sources {
		name := fmt.Sprintf("settings-of-all-workloads-%d", i)
		object(framework.Text(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]string{"a": "b"}}))
		taken = append(taken, map[string]any{"configMapRef": map[string]any{"name": name}})
	}
	for i := range targets {
		labels := map[string]any{"app": "large"}
		object(framework.Text(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": fmt.Sprintf("workload-of-many-%d", i), "labels": labels},
			"spec": map[string]any{"replicas": 0, "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx", "envFrom": taken}}},
			}},
		}))
	}
	var endpoints []any
	for i := range 32 {
		var addresses []any
		for j := range 31 {
			addresses = append(addresses, fmt.Sprintf("9.100.%d.%d", 100+i, 100+j))
		}
		endpoints = append(endpoints, map[string]any{"name": fmt.Sprintf("endpoint-%d", i), "zone": "z", "addresses": addresses})
	}
	var expressions []any
	for i := range 16 {
		var values []any
		for j := range 32 {
			values = append(values, fmt.Sprintf("%s-%d", strings.Repeat("v", 55), 100*i+j))
		}
		expressions = append(expressions, map[string]any{"key": "app", "operator": "NotIn", "values": values})
	}
	for _, large := range []struct {
		kind   kind
		spec   string
		filled func(status map[string]any) bool
		least  int // bytes of the export
	}{
		{rebootPolicies, `{targets: [{kind: Deployment, selector: {matchLabels: {app: large}}}], triggers: [{name: config, type: ConfigChange}]}`,
			func(status map[string]any) bool {
				all, _ := status["targets"].([]any)
				n := 0
				for _, one := range all {
					target, _ := one.(map[string]any)
					baselines, _, _ := unstructured.NestedSlice(target, "internal", "baselines")
					n += len(baselines)
				}
				return n >= sources*targets
			}, 100 << 10},
		{externalServices, framework.Text(map[string]any{"ports": parse(`[{name: sql, port: 5432}]`), "endpoints": endpoints}),
			func(status map[string]any) bool { return strings.Count(framework.Text(status), "9.100.") >= 32*31 }, 60 << 10},
		{chaosPods, framework.Text(map[string]any{"suspend": true, "schedule": parse(`{interval: 1h}`), "target": map[string]any{"selector": map[string]any{"matchExpressions": expressions}}}),
			func(map[string]any) bool { return true }, 30 << 10}, // it has no status of such a size
	} {
		s.apply(large.kind.object("v1", "large", large.spec))
		status := func(version string) map[string]any {
			status, _ := s.view(large.kind, version, "large").Object["status"].(map[string]any)
			return status
		}
		s.Eventually(func() error {
			if now := status("v1"); !large.filled(now) {
				return fmt.Errorf("%s: status of %d bytes: %.500s", large.kind.name, len(framework.Text(now)), framework.Text(now))
			}
			return nil
		})
		export := framework.Text(s.exported(large.kind, "v1alpha1", "large").Object)
		t.Logf("%s: export of %d bytes, status %d, annotations %d", large.kind.name, len(export), len(framework.Text(status("v1alpha1"))), len(field(s.view(large.kind, "v1alpha1", "large"), "metadata.annotations")))
		if len(export) < large.least {
			t.Errorf("%s: an export of %d bytes is not large", large.kind.name, len(export))
		}
		spec := field(s.view(large.kind, "v1", "large"), "spec")
		for i, export := range []func() string{
			func() string { return export }, func() string { return export },
			func() string { return framework.Text(s.exported(large.kind, "v1alpha1", "large").Object) },
		} {
			answer := s.try("replace", "-f", "-", "--", export())
			if answer.failure != nil {
				t.Errorf("%s: replace %d: %v\n%.2000s", large.kind.name, i, answer.failure, answer.err)
				continue
			}
			if after := field(s.view(large.kind, "v1", "large"), "spec"); after != spec {
				t.Errorf("%s: replace %d changed the spec: %.1000s, then %.1000s", large.kind.name, i, spec, after)
			}
			if now := status("v1"); !large.filled(now) {
				t.Errorf("%s: replace %d changed the status: %.1000s", large.kind.name, i, framework.Text(now))
			}
		}
	}
}
