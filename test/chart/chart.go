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
)

// options are the parts of the chart that a value turns on, each with the overlay whose objects it adds.
var options = []struct{ when, component string }{
	{".Values.networkPolicies", "network-policy"},
	{".Values.admissionPolicies", "admission-policy"},
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
		files[name].WriteString(text)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, "templates", name), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	about := filepath.Join(folder, "Chart.yaml")
	content, err := os.ReadFile(about)
	if err != nil {
		return err
	}
	content = regexp.MustCompile(`(?m)^version: .*$`).ReplaceAll(content, []byte("version: "+semantic(version)))
	content = regexp.MustCompile(`(?m)^appVersion: .*$`).ReplaceAll(content, fmt.Appendf(nil, "appVersion: %q", version))
	if err := os.WriteFile(about, content, 0o600); err != nil {
		return err
	}
	if content, err = os.ReadFile(filepath.Join(config, "manager", "config.yaml")); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(folder, "files"), 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "files", "config.yaml"), content, 0o600)
}

// semantic is the version that Helm takes for one, which demands three numbers.
func semantic(version string) string {
	if semantic := strings.TrimPrefix(version, "v"); regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`).MatchString(semantic) {
		return semantic
	}
	return "0.0.0-" + regexp.MustCompile(`[^0-9A-Za-z-]`).ReplaceAllString(version, "-")
}

// objects are all objects of the chart. Where one differs between the layouts, it is there twice.
func objects(config string) ([]object, error) {
	build := func(folder string, components ...string) ([]*unstructured.Unstructured, map[string]*unstructured.Unstructured, error) {
		built, err := Build(config, Overlay{Namespace: namespaceMark, NamePrefix: prefixMark, Resources: []string{folder}, Components: components})
		byID := map[string]*unstructured.Unstructured{}
		for _, o := range built {
			byID[id(o)] = o
		}
		return built, byID, err
	}
	single, inSingle, err := build("default")
	if err != nil {
		return nil, err
	}
	split, inSplit, err := build("split")
	if err != nil {
		return nil, err
	}
	var all []object
	for _, o := range single {
		switch other := inSplit[id(o)]; {
		case o.GetKind() == "Namespace": // Helm's own
		case o.GetKind() == "CustomResourceDefinition":
			all = append(all, object{".Values.crds.enabled", o})
		case reflect.DeepEqual(o, other):
			all = append(all, object{"", o})
		default:
			all = append(all, object{`eq .Values.layout "single"`, o})
		}
	}
	for _, o := range split {
		if !reflect.DeepEqual(o, inSingle[id(o)]) {
			all = append(all, object{`eq .Values.layout "split"`, o})
		}
	}
	for _, option := range options {
		with, _, err := build("default", option.component)
		if err != nil {
			return nil, err
		}
		for _, o := range with {
			if inSingle[id(o)] == nil {
				inSingle[id(o)] = o
				all = append(all, object{option.when, o})
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
	case strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
		return "admission-policies.yaml"
	}
	return "manager.yaml"
}
