// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What kustomize is given as namespace and name prefix, to be found in its objects.
const (
	namespaceMark = "fairlead-chart-namespace"
	prefixMark    = "fairlead-chart-prefix-"
	// watchedMark is the placeholder of each namespace that the operator works in.
	watchedMark = "fairlead-chart-watched"
)

// layouts are the ways to install. The chart has one copy of an object for each layout in which it differs.
var layouts = []struct {
	when    string
	overlay Overlay
}{
	{`and (eq .Values.layout "single") (not .Values.namespaces)`, Overlay{Resources: []string{"default"}}},
	{`eq .Values.layout "split"`, Overlay{Resources: []string{"split"}}},
	{"and .Values.namespaces .Values.clusterRole", Overlay{Resources: []string{"default"}, Namespaces: []string{watchedMark}}},
	{"and .Values.namespaces (not .Values.clusterRole)", Overlay{
		Resources: []string{"default"}, Namespaces: []string{watchedMark}, Components: []string{"namespaced/without-cluster-role"},
	}},
}

// options are the parts of the chart that a value turns on, each with the overlay whose objects it adds.
var options = []struct{ when, component string }{
	{".Values.networkPolicies", "network-policy"},
	{".Values.admissionPolicies", "admission-policy"},
	{".Values.flowSchemas", "flow-schema"},
	{"or .Values.serviceMonitor .Values.podMonitor", "prometheus/reader"}, // before those that it is a part of
	{".Values.serviceMonitor", "prometheus"},
	{".Values.podMonitor", "prometheus/pod-monitor"},
	{".Values.metricsCertificate", "prometheus/certificate"},
	{".Values.prometheusRules", "prometheus/rules"},
	{`eq .Values.secrets "wide"`, "watch-secrets"},
}

// object is one of the chart, as it is when a condition of the template holds; an empty condition always does.
type object struct {
	when string
	*unstructured.Unstructured
	// v1Only is the object of the component v1-only, where it is another.
	v1Only *unstructured.Unstructured
}

// Generate writes the chart of the folder config to a new folder. The version is that of the release, and the
// tag of its image.
func Generate(config, folder, version string) error {
	objects, err := objects(config)
	if err != nil {
		return err
	}
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(config, "chart"))); err != nil {
		return err
	}
	files := map[string]*bytes.Buffer{}
	for _, o := range objects {
		name := fileOf(o.GetKind())
		if files[name] == nil {
			files[name] = &bytes.Buffer{}
		}
		text, err := template(o)
		if err != nil {
			return fmt.Errorf("%s: %w", id(o.Unstructured), err)
		}
		_, _ = files[name].WriteString(text) // which a bytes.Buffer always takes
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, "templates", name), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	if err := setVersion(folder, version); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(folder, "files"), 0o750); err != nil {
		return err
	}
	// Templates cannot read the chart's own values.yaml and schema.
	for _, from := range []string{"manager/config.yaml", "chart/values.yaml", "chart/values.schema.json"} {
		content, err := os.ReadFile(filepath.Join(config, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "files", filepath.Base(from)), content, 0o600); err != nil { //nolint:gosec // the folder is the caller's
			return err
		}
	}
	return nil
}

// setVersion writes the version of the release into a chart.
func setVersion(folder, version string) error {
	about := filepath.Join(folder, "Chart.yaml")
	content, err := os.ReadFile(about)
	if err != nil {
		return err
	}
	content = regexp.MustCompile(`(?m)^version: .*$`).ReplaceAll(content, []byte("version: "+semantic(version)))
	content = regexp.MustCompile(`(?m)^appVersion: .*$`).ReplaceAll(content, fmt.Appendf(nil, "appVersion: %q", version))
	return os.WriteFile(about, content, 0o600) //nolint:gosec // the folder is the caller's
}

// semantic is the version that Helm takes for one, which demands three numbers.
func semantic(version string) string {
	if semantic := strings.TrimPrefix(version, "v"); regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`).MatchString(semantic) {
		return semantic
	}
	return "0.0.0-" + regexp.MustCompile(`[^0-9A-Za-z-]`).ReplaceAllString(version, "-")
}

// objects are all objects of the chart.
func objects(config string) ([]object, error) {
	build := func(o Overlay) ([]*unstructured.Unstructured, map[string]*unstructured.Unstructured, error) {
		o.Namespace, o.NamePrefix = namespaceMark, prefixMark
		built, err := Build(config, o)
		byID := map[string]*unstructured.Unstructured{}
		for _, o := range built {
			byID[id(o)] = o
		}
		return built, byID, err
	}
	var built [][]*unstructured.Unstructured
	var byLayout []map[string]*unstructured.Unstructured
	for _, layout := range layouts {
		list, byID, err := build(layout.overlay)
		if err != nil {
			return nil, err
		}
		built, byLayout = append(built, list), append(byLayout, byID)
	}
	_, v1Only, err := build(Overlay{Resources: []string{"default"}, Components: []string{"v1-only"}})
	if err != nil {
		return nil, err
	}
	var all []object
	done := map[*unstructured.Unstructured]bool{}
	for _, list := range built {
		for _, o := range list {
			if done[o] {
				continue
			}
			var when []string
			for i, layout := range layouts {
				if other := byLayout[i][id(o)]; other != nil && reflect.DeepEqual(o, other) {
					done[other] = true
					when = append(when, "("+layout.when+")")
				}
			}
			switch {
			case o.GetKind() == "Namespace": // Helm's own
			case o.GetKind() == "CustomResourceDefinition":
				all = append(all, object{".Values.crds.enabled", o, v1Only[id(o)]})
			case o.GetKind() == "PriorityClass":
				all = append(all, object{".Values.priorityClass.create", o, nil})
			case len(when) == len(layouts):
				all = append(all, object{"", o, nil})
			case len(when) == 1:
				all = append(all, object{when[0], o, nil})
			default:
				all = append(all, object{"or " + strings.Join(when, " "), o, nil})
			}
		}
	}
	for _, option := range options {
		with, _, err := build(Overlay{Resources: []string{"default"}, Components: []string{option.component}})
		if err != nil {
			return nil, err
		}
		for _, o := range with {
			if byLayout[0][id(o)] == nil {
				byLayout[0][id(o)] = o
				all = append(all, object{option.when, o, nil})
			}
		}
	}
	return all, nil
}

func fileOf(kind string) string {
	switch {
	case kind == "CustomResourceDefinition":
		return "crds.yaml"
	case strings.Contains(kind, "Role") || kind == "ServiceAccount":
		return "rbac.yaml"
	case strings.HasSuffix(kind, "WebhookConfiguration"):
		return "webhooks.yaml"
	case slices.Contains([]string{"ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "Issuer", "Secret"}, kind):
		return "monitoring.yaml"
	case kind == "FlowSchema":
		return "flow-schemas.yaml"
	case strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
		return "admission-policies.yaml"
	}
	return "manager.yaml"
}
