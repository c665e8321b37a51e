// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	sigsyaml "sigs.k8s.io/yaml"
)

// renderByHelm3 returns the output of `helm template` of Helm 3.
func renderByHelm3(t *testing.T, folder, namespace string, values map[string]any) (string, error) {
	t.Helper()
	version, err := chartutil.ParseKubeVersion("v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{})
	install.ClientOnly, install.DryRun, install.ReleaseName, install.Namespace, install.KubeVersion = true, true, "fl", namespace, version
	made, err := install.Run(chart, values)
	if err != nil {
		return "", err
	}
	return made.Manifest, nil
}

// Helm 3 has other templates functions, another merge of values and another order of objects than Helm 4.
func TestHelm3RendersTheObjectsOfHelm4(t *testing.T) {
	folder := generated(t)
	for _, values := range []string{
		"{}",
		"{layout: split, hostNetwork: true, kinds: [ExternalService, ChaosPod], canaries: false, fullnameOverride: team-fairlead}",
		"{namespaces: [shop], clusterRole: false, v1Only: true, clusterCIDRs: [192.0.2.0/24]}",
		"{certificates: {source: certManager, caInjector: true}, secrets: wide, podMonitor: {enabled: true}, metricsCertificate: {enabled: true}, prometheusRules: {enabled: true}}",
		"{networkPolicy: {enabled: true, egress: [{}]}, admissionPolicies: {enabled: true}, flowSchemas: {enabled: true}, dashboard: {enabled: true}, monitoringLabels: {release: a}, webhook: {annotations: {a: b}}}",
		"{podSecurityContext: {runAsUser: null}, resources: {requests: {cpu: null}}, nodeSelector: {kubernetes.io/os: null}}",
		"configuration: {webhook: {port: 10250, drainDelay: 1.5s}, gracefulShutdownTimeout: 2m, rebootPolicies: {slotTimeout: 1h}}",
	} {
		var of map[string]any
		if err := sigsyaml.Unmarshal([]byte(values), &of); err != nil {
			t.Fatal(err)
		}
		want, err := render(t, folder, "fairlead-system", of)
		if err != nil {
			t.Fatal(err)
		}
		got, err := renderByHelm3(t, folder, "fairlead-system", of)
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		if diff := cmp.Diff(objectsOf(t, want), objectsOf(t, got)); diff != "" {
			t.Errorf("%s: -Helm 4 +Helm 3:\n%.4000s", values, diff)
		}
	}
	for values, want := range map[string]string{
		"configuration: {webhook: {host: 127.0.0.1}}":        "configuration.webhook.host: 127.0.0.1 does not go with the chart",
		"configuration: {rebootPolicies: {maxRestarts: -5}}": "maxRestarts': minimum: got -5, want 1",
		"configuration: {rebootPolicies: {slotTimeout: 2h}}": "configuration.rebootPolicies.slotTimeout: 2h is too long",
		"configuration: {webhook: {port: }}":                 "'/configuration/webhook/port': got null, want integer",
		"configuration: {egress: {deny: [{cidrs: }]}}":       "'/configuration/egress/deny/0/cidrs': got null, want array",
		"configuration: ": "configuration has no value",
		"crds: {keep: }":  "crds.keep has no value",
		"crds: ":          "crds has no value",
		"unknown: true":   "additional properties 'unknown' not allowed",
	} {
		var of map[string]any
		if err := sigsyaml.Unmarshal([]byte(values), &of); err != nil {
			t.Fatal(err)
		}
		if _, err := renderByHelm3(t, folder, "fairlead-system", of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}
