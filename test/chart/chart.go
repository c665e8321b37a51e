// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"io/fs"
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

// options are the parts of the chart that a value turns on, each with the component whose objects it adds to a layout.
var options = []struct {
	when, component string
	layout          int
}{
	{".Values.networkPolicy.enabled", "network-policy", 0},
	{".Values.admissionPolicies.enabled", "admission-policy", 0},
	{".Values.flowSchemas.enabled", "flow-schema", 0},
	{"or .Values.serviceMonitor.enabled .Values.podMonitor.enabled", "prometheus/reader", 0}, // before those that it is a part of
	{".Values.serviceMonitor.enabled", "prometheus", 0},
	{".Values.podMonitor.enabled", "prometheus/pod-monitor", 0},
	{".Values.metricsCertificate.enabled", "prometheus/certificate", 0},
	{".Values.prometheusRules.enabled", "prometheus/rules", 0},
	{".Values.dashboard.enabled", "prometheus/dashboard", 0},
	{`and (eq .Values.secrets "wide") (not .Values.namespaces)`, "watch-secrets", 0},
	{`and (eq .Values.secrets "wide") .Values.namespaces`, "namespaced/watch-secrets", 2},
}

// object is one of the chart, as it is when a condition of the template holds; an empty condition always does.
type object struct {
	when string
	*unstructured.Unstructured
	// v1Only is the object of the component v1-only, where it is another.
	v1Only *unstructured.Unstructured
}

// header begins each template that Write makes.
const header = "{{- /* Generated from config by `make generate`. */ -}}\n"

// Home returns the folder of the chart beside the folder config.
func Home(config string) string { return filepath.Join(config, "..", "charts", "fairlead") }

// Generate writes the chart of the folder config to a new folder. The version is that of the release, and the
// tag of its image.
func Generate(config, folder, version string) error {
	if err := os.CopyFS(folder, os.DirFS(Home(config))); err != nil {
		return err
	}
	if err := Write(config, folder); err != nil {
		return err
	}
	return setVersion(folder, version)
}

// Write writes what is generated of the chart of the folder config to a folder, which has the rest: templates, in place of those
// that it has made before, the files that templates read, and README.md.
func Write(config, folder string) error {
	objects, err := objects(config)
	if err != nil {
		return err
	}
	if err := removeGenerated(filepath.Join(folder, "templates")); err != nil {
		return err
	}
	files := map[string]*bytes.Buffer{}
	for _, o := range objects {
		name := fileOf(o)
		if files[name] == nil {
			files[name] = bytes.NewBufferString(header)
		}
		text, err := template(o)
		if err != nil {
			return fmt.Errorf("%s: %w", id(o.Unstructured), err)
		}
		_, _ = files[name].WriteString(text) // which a bytes.Buffer always takes
	}
	for name, content := range files {
		if err := write(filepath.Join(folder, "templates", name), content.Bytes()); err != nil {
			return err
		}
	}
	// Templates cannot read the chart's own values.yaml and schema.
	for _, from := range []string{
		filepath.Join(config, "manager", "config.yaml"), filepath.Join(config, "prometheus", "dashboard", "dashboard.json"),
		filepath.Join(folder, "values.yaml"), filepath.Join(folder, "values.schema.json"),
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(folder, "files", filepath.Base(from)), content); err != nil {
			return err
		}
	}
	readme, err := Readme(folder)
	if err != nil {
		return err
	}
	return write(filepath.Join(folder, "README.md"), readme)
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // all may read the chart
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // all may read the chart
}

// removeGenerated removes the templates that Write has made.
func removeGenerated(folder string) error {
	return filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(content, []byte(header)) {
			return err
		}
		return os.Remove(file)
	})
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
		overlay := layouts[option.layout].overlay
		overlay.Components = append(slices.Clone(overlay.Components), option.component)
		with, _, err := build(overlay)
		if err != nil {
			return nil, err
		}
		for _, o := range with {
			if of := byLayout[option.layout]; of[id(o)] == nil {
				of[id(o)] = o
				all = append(all, object{option.when, o, nil})
			}
		}
	}
	return all, nil
}

// fileOf is the template of an object. Each CRD has its own.
func fileOf(o object) string {
	kind := o.GetKind()
	switch {
	case kind == "CustomResourceDefinition":
		plural, _, _ := strings.Cut(o.GetName(), ".")
		return filepath.Join("crds", plural+".yaml")
	case strings.Contains(kind, "Role") || kind == "ServiceAccount":
		return "rbac.yaml"
	case strings.HasSuffix(kind, "WebhookConfiguration"):
		return "webhooks.yaml"
	case slices.Contains([]string{"ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "Issuer", "Secret"}, kind),
		strings.HasSuffix(o.GetName(), "-dashboard"):
		return "monitoring.yaml"
	case kind == "FlowSchema":
		return "flow-schemas.yaml"
	case strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
		return "admission-policies.yaml"
	}
	return "manager.yaml"
}
