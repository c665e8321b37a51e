// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// minimalSpecs are small specs of each kind and version, with each part whose presence alone means something.
var minimalSpecs = map[string]map[string][]string{
	"ExternalService": {
		"v1": {
			"{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}]}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: a, dns: {name: db.example.com}}]}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {tcpSocket: {}}}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {httpGet: {}}}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {grpc: {}}, failover: {}}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {httpGet: {}, tls: {}}}",
		},
		"v1alpha1": {
			"{ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}]}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: host-0, dns: {name: db.example.com}}], resolution: {minTTL: 60s, maxTTL: 60s}}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}], probe: {tcpSocket: {port: 80}}}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}, {name: host-1, addresses: [192.0.2.2]}], probe: {httpGet: {port: 80}}}",
			"{ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}], probe: {grpc: {port: 80}}}",
		},
	},
	"RebootPolicy": {
		"v1": {
			"{targets: [{kind: Deployment, name: a}], triggers: [{name: t, type: ConfigChange}]}",
			`{targets: [{kind: Deployment, name: a}], triggers: [{name: t, type: Schedule, schedule: {cron: "@daily"}}]}`,
			"{targets: [{kind: Deployment, name: a}], cooldown: 10m, triggers: [{name: t, type: Probe, probe: {httpGet: {port: 80}}}]}",
			"{targets: [{kind: Deployment, name: a}], cooldown: 10m, triggers: [{name: t, type: Probe, probe: {tcpSocket: {port: 80}}}], strategy: {type: Evict}}",
		},
		"v1alpha1": {
			"{targets: [{kind: Deployment, name: a}]}",
			"{targets: [{kind: Deployment, name: a}], policies: [{name: p, type: ConfigChange}]}",
			"{targets: [{kind: Deployment, name: a}], cooldown: 10m, policies: [{name: p, type: Probe, probe: {httpGet: {port: 80}}}]}",
			"{targets: [{kind: Deployment, name: a}], cooldown: 10m, policies: [{name: p, type: Probe, probe: {tcpSocket: {port: 80}}}]}",
			"{targets: [{kind: Deployment, name: a}], cooldown: 10m, policies: [{name: p, type: Probe, probe: {grpc: {port: 80}}}]}",
		},
	},
	"ChaosPod": {
		"v1": {
			`{target: {workload: {kind: Deployment, name: a}}, schedule: {cron: "@daily"}}`,
			"{target: {selector: {matchLabels: {app: a}}}, schedule: {interval: 1h}}",
			"{target: {template: {spec: {containers: [{name: a, image: a}]}}}, schedule: {interval: 1h}}",
		},
		"v1alpha1": {
			"{template: {spec: {containers: [{name: a, image: a}]}}}",
			`{template: {spec: {containers: [{name: a, image: a}]}}, nextStop: "2026-01-01T00:00:00Z"}`,
		},
	},
}

// applied are the manifests that are applied again: samples, what is documented, and minimal specs, each also with every
// empty part that its schema allows at the top of the spec.
func (s *suite) applied() []*unstructured.Unstructured {
	s.Helper()
	all := append(samples(s.T), documented(s.T)...)
	for _, kind := range slices.Sorted(maps.Keys(minimalSpecs)) {
		for version, specs := range minimalSpecs[kind] {
			for _, spec := range specs {
				all = append(all, s.manifest(kind, version, "minimal", spec))
			}
			properties := schemaOf(s.T, kind, version)["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)
			for part, schema := range properties {
				base := s.manifest(kind, version, "minimal", specs[0])
				if _, has := base.Object["spec"].(map[string]any)[part]; !has && schema.(map[string]any)["type"] == "object" {
					base.Object["spec"].(map[string]any)[part] = map[string]any{}
					all = append(all, base)
				}
			}
		}
	}
	for i, m := range all {
		m.SetNamespace(s.Namespace)
		m.SetName(fmt.Sprintf("a-%d", i))
	}
	return all
}

// The API server compares what several managers own at the version of each. A status at v1 is one of them, and so is
// what another client wrote at either version.
func TestAManifestIsAppliedAgainAfterOthersHaveWritten(t *testing.T) {
	s := newSuite(t)
	s.pause()
	accepted := map[string]int{}
	for _, m := range framework.Sample(framework.NewSampler(t), 16, s.applied()) {
		kind, version := m.GetKind(), m.GroupVersionKind().Version
		first, err := s.tryApply(m)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			continue // such as an empty part that its rules refuse
		}
		s.Must(err)
		accepted[kind+" "+version]++
		_, err = s.at(kind, "v1").Patch(s.Context(), m.GetName(), types.MergePatchType, []byte(`{"status": {"observedGeneration": 1}}`),
			metav1.PatchOptions{FieldManager: "fairlead"}, "status")
		s.Must(err)
		for _, other := range []string{"", "v1", "v1alpha1"} {
			if other != "" {
				_, err := s.at(kind, other).Patch(s.Context(), m.GetName(), types.MergePatchType, []byte(`{"metadata": {"labels": {"by": "`+other+`"}}}`),
					metav1.PatchOptions{FieldManager: "kubectl-label-" + other})
				s.Must(err)
			}
			again, err := s.tryApply(m)
			if err != nil {
				t.Errorf("%s is refused after a write at %q: %v\n%s", title(m), other, err, marshal(t, m))
				break
			}
			if !apiequality.Semantic.DeepEqual(first.Object["spec"], again.Object["spec"]) {
				t.Errorf("%s has another spec after a write at %q:\n%v\n%v", title(m), other, first.Object["spec"], again.Object["spec"])
				break
			}
		}
	}
	t.Logf("applied %v", accepted)
}

// tryApply applies a manifest as Flux does.
func (s *suite) tryApply(m *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	s.Helper()
	return s.at(m.GetKind(), m.GroupVersionKind().Version).Patch(s.Context(), m.GetName(), types.ApplyPatchType,
		[]byte(marshal(s.T, m)), metav1.PatchOptions{FieldManager: "kustomize-controller"})
}
