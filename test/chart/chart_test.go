// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	sigsyaml "sigs.k8s.io/yaml"
)

const config = "../../config"

// generated is the chart of the checkout, which is made once.
func generated(t *testing.T) string {
	t.Helper()
	folder, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

var (
	temporary string
	generate  = sync.OnceValues(func() (string, error) {
		folder := filepath.Join(temporary, "fairlead")
		return folder, Generate(config, folder, "v1.2.3")
	})
)

func TestMain(m *testing.M) {
	var err error
	if temporary, err = os.MkdirTemp("", "fairlead-chart-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // of TestMain
	}
	code := m.Run()
	if err := os.RemoveAll(temporary); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code) //nolint:forbidigo // of TestMain
}

// installed is the release that `helm template` makes.
func installed(t *testing.T, folder, namespace string, values map[string]any) (*releasev1.Release, error) {
	t.Helper()
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	made, err := installAction(t, namespace).Run(chart, values)
	if err != nil {
		return nil, err
	}
	return made.(*releasev1.Release), nil
}

// installAction is `helm template`.
func installAction(t *testing.T, namespace string) *action.Install {
	t.Helper()
	version, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace, install.KubeVersion = action.DryRunClient, "fl", namespace, version
	return install
}

// render returns the output of `helm template`.
func render(t *testing.T, folder, namespace string, values map[string]any) (string, error) {
	t.Helper()
	made, err := installed(t, folder, namespace, values)
	if err != nil {
		return "", err
	}
	return made.Manifest, nil
}

// objectsOf reads manifests.
func objectsOf(t *testing.T, manifests string) map[string]*unstructured.Unstructured {
	t.Helper()
	byID := map[string]*unstructured.Unstructured{}
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return byID
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, manifests)
		}
		if len(object.Object) == 0 {
			continue
		}
		if byID[id(object)] != nil {
			t.Fatalf("%s is there twice", id(object))
		}
		byID[id(object)] = object
	}
}

// normalize takes out of an object what each way to install does in its own way: who manages it, how a
// changed configuration rolls a Deployment, and where the image is from.
func normalize(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	labels := object.GetLabels()
	recommended := map[string]string{
		"app.kubernetes.io/instance": "fl", "app.kubernetes.io/version": "v1.2.3", "app.kubernetes.io/part-of": "fairlead",
		"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "fairlead-1.2.3",
	}
	if labels["app.kubernetes.io/managed-by"] == "kustomize" {
		recommended = map[string]string{"app.kubernetes.io/managed-by": "kustomize"}
	}
	for name, want := range recommended {
		if labels[name] != want {
			t.Errorf("%s: label %s is %q, want %q", id(object), name, labels[name], want)
		}
		delete(labels, name)
	}
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	object.SetAnnotations(annotations)
	hash := regexp.MustCompile("(fairlead-config)-[a-z0-9]{10}$")
	switch object.GetKind() {
	case "ConfigMap":
		if strings.HasSuffix(object.GetName(), "-dashboard") {
			return
		}
		object.SetName(hash.ReplaceAllString(object.GetName(), "$1"))
		text, _, _ := unstructured.NestedString(object.Object, "data", "config.yaml")
		var configuration map[string]any
		if err := sigsyaml.UnmarshalStrict([]byte(text), &configuration); err != nil || configuration["kind"] != "FairleadConfiguration" {
			t.Fatalf("%s: %v in:\n%s", id(object), err, text)
		}
		object.Object["data"] = map[string]any{"config.yaml": configuration}
	case "Deployment":
		unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "annotations", "checksum/configuration")
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		delete(containers[0].(map[string]any), "image")
		delete(containers[0].(map[string]any), "imagePullPolicy")
		_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
		volumes, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "volumes")
		of := volumes[0].(map[string]any)["configMap"].(map[string]any)
		of["name"] = hash.ReplaceAllString(of["name"].(string), "$1")
		_ = unstructured.SetNestedSlice(object.Object, volumes, "spec", "template", "spec", "volumes")
	}
}

// index is the objects of an overlay, for comparison, without the Namespace, which Helm makes by itself.
func index(objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	byID := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		if o.GetKind() != "Namespace" {
			byID[id(o)] = o
		}
	}
	return byID
}

func same(t *testing.T, one, other map[string]*unstructured.Unstructured) {
	t.Helper()
	if len(one) < 20 || len(other) < 20 {
		t.Fatalf("%d and %d objects", len(one), len(other))
	}
	content := func(objects map[string]*unstructured.Unstructured) map[string]any {
		all := map[string]any{}
		for _, o := range objects {
			normalize(t, o)
			all[id(o)] = o.Object
		}
		return all
	}
	if diff := cmp.Diff(content(one), content(other)); diff != "" {
		t.Errorf("-kustomize +other:\n%.6000s", diff)
	}
}

// Each value of the chart has a component or a folder of the same effect.
func TestTheChartHasTheObjectsOfTheKustomizations(t *testing.T) {
	folder := generated(t)
	for name, c := range map[string]struct {
		overlay Overlay
		values  map[string]any
	}{
		"default": {Overlay{Resources: []string{"default"}}, nil},
		"split":   {Overlay{Resources: []string{"split"}}, map[string]any{"layout": "split"}},
		"cert-manager": {
			Overlay{Resources: []string{"default"}, Components: []string{"certmanager"}},
			map[string]any{"certificates": map[string]any{"source": "certManager"}},
		},
		"its CA injector": {
			Overlay{Resources: []string{"split"}, Components: []string{"certmanager", "certmanager/cainjector"}},
			map[string]any{"layout": "split", "certificates": map[string]any{"source": "certManager", "caInjector": true}},
		},
		"all components": {
			Overlay{Resources: []string{"default"}, Components: []string{"network-policy", "admission-policy", "flow-schema", "prometheus", "prometheus/certificate", "prometheus/rules", "prometheus/dashboard", "watch-secrets"}},
			map[string]any{"dashboard": map[string]any{"enabled": true}, "networkPolicy": map[string]any{"enabled": true}, "admissionPolicies": map[string]any{"enabled": true}, "flowSchemas": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true}, "metricsCertificate": map[string]any{"enabled": true}, "prometheusRules": map[string]any{"enabled": true}, "secrets": "wide"},
		},
		"all components, split, of other names": {
			Overlay{
				Namespace: "team-system", NamePrefix: "team-", Resources: []string{"split"},
				Components: []string{"certmanager", "network-policy", "admission-policy", "flow-schema", "prometheus/pod-monitor", "prometheus/certificate", "prometheus/rules", "watch-secrets"},
			},
			map[string]any{
				"layout": "split", "fullnameOverride": "team-fairlead", "certificates": map[string]any{"source": "certManager"},
				"networkPolicy": map[string]any{"enabled": true}, "admissionPolicies": map[string]any{"enabled": true}, "flowSchemas": map[string]any{"enabled": true}, "podMonitor": map[string]any{"enabled": true}, "metricsCertificate": map[string]any{"enabled": true}, "prometheusRules": map[string]any{"enabled": true}, "secrets": "wide",
			},
		},
		"the network of nodes": {
			Overlay{Resources: []string{"default"}, Components: []string{"host-network"}}, map[string]any{"hostNetwork": true},
		},
		"the network of nodes, split": {
			Overlay{Resources: []string{"split"}, Components: []string{"host-network"}}, map[string]any{"hostNetwork": true, "layout": "split"},
		},
		"v1 alone": {
			Overlay{Resources: []string{"split"}, Components: []string{"v1-only"}},
			map[string]any{"layout": "split", "v1Only": true},
		},
		"some namespaces": {
			Overlay{Resources: []string{"default"}, Namespaces: []string{"shop", "123"}},
			map[string]any{"namespaces": []any{"shop", "123"}},
		},
		"some namespaces, without a ClusterRole": {
			Overlay{Resources: []string{"default"}, Namespaces: []string{"shop", "billing"}, Components: []string{"namespaced/without-cluster-role"}},
			map[string]any{"namespaces": []any{"shop", "billing"}, "clusterRole": false},
		},
		"some namespaces, v1 alone, of other names": {
			Overlay{
				Namespace: "team-system", NamePrefix: "team-", Resources: []string{"default"}, Namespaces: []string{"shop"},
				Components:   []string{"v1-only", "network-policy", "admission-policy", "flow-schema", "prometheus"},
				ClusterCIDRs: []string{"192.0.2.0/24", "2001:db8::/32"},
			},
			map[string]any{
				"fullnameOverride": "team-fairlead", "namespaces": []any{"shop"}, "v1Only": true, "clusterCIDRs": []any{"192.0.2.0/24", "2001:db8::/32"},
				"networkPolicy": map[string]any{"enabled": true}, "admissionPolicies": map[string]any{"enabled": true}, "flowSchemas": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true},
			},
		},
		"other replicas and resources": {
			Overlay{Resources: []string{"split"}, Patches: []types.Patch{{
				Target: &types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "Deployment"}}},
				Patch: `[{"op": "replace", "path": "/spec/replicas", "value": 3},
					{"op": "replace", "path": "/spec/template/spec/containers/0/resources", "value": {"limits": {"memory": "1Gi"}}},
					{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {"kubernetes.io/os": "linux"}},
					{"op": "add", "path": "/spec/template/spec/tolerations", "value": [{"operator": "Exists"}]},
					{"op": "add", "path": "/spec/template/spec/affinity", "value": {"nodeAffinity": {}}},
					{"op": "add", "path": "/spec/template/spec/imagePullSecrets", "value": [{"name": "registry"}]}]`,
			}}},
			map[string]any{
				"layout": "split", "replicaCount": 3, "resources": map[string]any{"requests": nil, "limits": map[string]any{"memory": "1Gi"}},
				"nodeSelector": map[string]any{"kubernetes.io/os": "linux"}, "tolerations": []any{map[string]any{"operator": "Exists"}},
				"affinity": map[string]any{"nodeAffinity": map[string]any{}}, "imagePullSecrets": []any{map[string]any{"name": "registry"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			built, err := Build(config, c.overlay)
			if err != nil {
				t.Fatal(err)
			}
			namespace := c.overlay.Namespace
			if namespace == "" {
				namespace = "fairlead-system"
			}
			manifests, err := render(t, folder, namespace, c.values)
			if err != nil {
				t.Fatal(err)
			}
			same(t, index(built), objectsOf(t, manifests))
		})
	}
}

func TestInstallYAMLHasTheObjectsOfTheDefault(t *testing.T) {
	content, err := Install(config, "registry.example.com/fairlead:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(content), "image: registry.example.com/fairlead:v1.2.3\n"); n != 1 {
		t.Errorf("names the image %d times", n)
	}
	built, err := Build(config, Overlay{Resources: []string{"default"}})
	if err != nil {
		t.Fatal(err)
	}
	installed := objectsOf(t, string(content))
	if installed["Namespace /fairlead-system"] == nil {
		t.Error("makes no Namespace")
	}
	delete(installed, "Namespace /fairlead-system")
	same(t, index(built), installed)
}

// What a release has pulls the image by its digest, and is made again with the same bytes.
func TestAReleaseNamesItsImageAndIsReproducible(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	var made [2][]byte
	for n := range made {
		out := t.TempDir()
		if _, err := Release(config, out, "v1.2.3", "registry.example.com/fairlead", digest); err != nil {
			t.Fatal(err)
		}
		var err error
		if made[n], err = os.ReadFile(filepath.Join(out, "fairlead-1.2.3.tgz")); err != nil {
			t.Fatal(err)
		}
		manifests, err := render(t, filepath.Join(out, "fairlead-1.2.3.tgz"), "a", nil)
		if err != nil || !strings.Contains(manifests, "image: \"registry.example.com/fairlead@"+digest+"\"") {
			t.Errorf("the chart does not pull by digest, or %v", err)
		}
		if about, err := os.Stat(filepath.Join(out, "install.yaml")); err != nil || about.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("install.yaml may be read by its owner alone: %v", err)
		}
		installed, err := os.ReadFile(filepath.Join(out, "install.yaml"))
		if err != nil || !strings.Contains(string(installed), "image: registry.example.com/fairlead:v1.2.3@"+digest+"\n") {
			t.Errorf("install.yaml does not pull by digest, or %v", err)
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two charts of the same differ")
	}
	packed, err := gzip.NewReader(bytes.NewReader(made[0]))
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(packed)
	for header, err := files.Next(); err != io.EOF; header, err = files.Next() {
		if err != nil || header.ModTime.Unix() != 0 {
			t.Fatalf("%v, or %s is from %s", err, header.Name, header.ModTime)
		}
	}
}

// An overlay may set both: no reference of one object to another, nor to the operator's namespace, is left behind.
func TestNoNameIsLeftBehindWhereAnOverlayChangesThem(t *testing.T) {
	// What the operator makes in its own namespace keeps its name, and so do paths of the webhooks.
	kept := regexp.MustCompile(`fairlead-(manager|fingerprint-key|calendar|webhook(-ca|-trust|-tls|-root|-bootstrap)?)|-fairlead-dev-v1-`)
	// So does the Secret that cert-manager, or a user, makes.
	foreign := regexp.MustCompile(`secretName: fairlead-metrics-(tls|ca)$|name: fairlead-metrics-tls$|github.com/fairlead-dev/`)
	all := []string{"certmanager", "network-policy", "admission-policy", "flow-schema", "prometheus", "prometheus/certificate", "prometheus/rules", "prometheus/dashboard", "watch-secrets"}
	for layout, overlay := range map[string]Overlay{
		"default": {Resources: []string{"default"}, Components: all}, "split": {Resources: []string{"split"}, Components: all},
		"namespaced": {Resources: []string{"default"}, Components: all[:8], Namespaces: []string{"shop"}},
	} {
		overlay.Namespace, overlay.NamePrefix = "elsewhere", "team-"
		built, err := Build(config, overlay)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range built {
			if o.GetKind() == "ConfigMap" {
				continue // the configuration is the operator's view, see above
			}
			content, err := sigsyaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			inRole := o.GetKind() == "Role"
			for line := range strings.Lines(string(content)) {
				without := strings.ReplaceAll(line, "team-fairlead-", "")
				if inRole && strings.HasPrefix(strings.TrimSpace(line), "- ") {
					without = kept.ReplaceAllString(without, "")
				}
				without = foreign.ReplaceAllString(strings.ReplaceAll(strings.TrimSpace(without), "-fairlead-dev-v1-", ""), "")
				if strings.Contains(without, "fairlead-") {
					t.Errorf("%s, %s: %s", layout, id(o), strings.TrimSpace(line))
				}
			}
		}
	}
}

// Each message says which value is wrong and, where it depends on another, why.
func TestWhatTheChartCannotDoIsRefusedWithTheReason(t *testing.T) {
	folder := generated(t)
	for want, values := range map[string]map[string]any{
		"additional properties 'replicas' not allowed":                    {"replicas": 2},
		"at '/replicaCount': minimum":                                     {"replicaCount": 0},
		"at '/revisionHistoryLimit': minimum":                             {"revisionHistoryLimit": -1},
		"at '/image/registry': 'example.com/' does not match":             {"image": map[string]any{"registry": "example.com/"}},
		"at '/global/imageRegistry': 'a b' does not match":                {"global": map[string]any{"imageRegistry": "a b"}},
		"at '/livenessProbe': additional properties 'initialDelay":        {"livenessProbe": map[string]any{"initialDelaySeconds": 1}},
		"at '/startupProbe/periodSeconds': minimum":                       {"startupProbe": map[string]any{"periodSeconds": 0}},
		"at '/podDisruptionBudget/minAvailable': 'half' does not":         {"podDisruptionBudget": map[string]any{"minAvailable": "half"}},
		"at '/webhook/timeoutSeconds': maximum":                           {"webhook": map[string]any{"timeoutSeconds": 31}},
		"at '/networkPolicy': got boolean, want object":                   {"networkPolicy": true},
		"at '/networkPolicy/egress/0': additional properties 'from'":      {"networkPolicy": map[string]any{"egress": []any{map[string]any{"from": []any{}}}}},
		"at '/extraObjects/0': got number, want":                          {"extraObjects": []any{1}},
		"nameOverride: 1-x begins no name of a Service":                   {"nameOverride": "x"}, // of the release 1
		"commonLabels: helm.sh/chart is the chart's own":                  {"commonLabels": map[string]any{"helm.sh/chart": "a"}},
		"deploymentAnnotations: fairlead.dev/a is the chart's own":        {"deploymentAnnotations": map[string]any{"fairlead.dev/a": "a"}},
		"monitoringLabels: team is in commonLabels too":                   {"monitoringLabels": map[string]any{"team": "a"}, "commonLabels": map[string]any{"team": "b"}},
		"at '/layout': value must be one of":                              {"layout": "both"},
		"at '/secrets': value must be one of":                             {"secrets": "all"},
		"at '/image/digest': 'sha256:1' does not":                         {"image": map[string]any{"digest": "sha256:1"}},
		"at '/image/repository': 'a b' does not match":                    {"image": map[string]any{"repository": "a b"}},
		"at '/image/repository': 'example.com/' does not match":           {"image": map[string]any{"repository": "example.com/"}},
		"at '/image/repository': 'example.com/a:v1' does not match":       {"image": map[string]any{"repository": "example.com/a:v1"}},
		"at '/fullnameOverride': 'Team' does not":                         {"fullnameOverride": "Team"},
		"at '/fullnameOverride': '1' does not":                            {"fullnameOverride": "1"}, // no name of a Service
		"at '/clusterCIDRs': minItems":                                    {"clusterCIDRs": []any{}},
		"at '/configuration': additional properties 'webook' not allowed": {"configuration": map[string]any{"webook": map[string]any{}}},
		"at '/configuration/webhook/drainDelay': got number, want string": {"configuration": map[string]any{"webhook": map[string]any{"drainDelay": 10}}},
		"namespaces: layout must be single, since":                        {"namespaces": []any{"shop"}, "layout": "split"},
		"namespaces: fairlead-system is the operator":                     {"namespaces": []any{"shop", "fairlead-system"}},
		"clusterRole: false needs namespaces":                             {"clusterRole": false},
		"clusterRole: false leaves no metrics":                            {"namespaces": []any{"shop"}, "clusterRole": false, "podMonitor": map[string]any{"enabled": true}},
		"serviceMonitor and podMonitor would":                             {"serviceMonitor": map[string]any{"enabled": true}, "podMonitor": map[string]any{"enabled": true}},
		"caInjector needs certificates.source":                            {"certificates": map[string]any{"caInjector": true}},
		"priorityClass.name is of a PriorityClass that exists":            {"priorityClass": map[string]any{"name": "system"}},
		"podLabels: app.kubernetes.io/name is the chart's own":            {"podLabels": map[string]any{"app.kubernetes.io/name": "a"}},
		"podAnnotations: checksum/configuration is the chart's own":       {"podAnnotations": map[string]any{"checksum/configuration": "a"}},
		"at '/webhook/annotations/a': got boolean, want string":           {"webhook": map[string]any{"annotations": map[string]any{"a": true}}},
		"at '/env/0/name': 'not' failed":                                  {"env": []any{map[string]any{"name": "POD_NAME", "value": "a"}}},
		"at '/env/0': additional properties 'valeu' not allowed":          {"env": []any{map[string]any{"name": "A", "valeu": "a"}}},
		"at '/extraVolumes/0': missing property 'name'":                   {"extraVolumes": []any{map[string]any{"emptyDir": map[string]any{}}}},
		"at '/extraVolumeMounts/0': missing property 'mountPath'":         {"extraVolumeMounts": []any{map[string]any{"name": "a"}}},
		"at '/strategy/rollingUpdate': additional properties 'maxSrge'":   {"strategy": map[string]any{"rollingUpdate": map[string]any{"maxSrge": 1}}},
		"at '/affinity': additional properties 'podAffinty' not allowed":  {"affinity": map[string]any{"podAffinty": map[string]any{}}},
		"at '/topologySpreadConstraints/0': missing properties":           {"topologySpreadConstraints": []any{map[string]any{"topologyKey": "zone"}}},
		"at '/dnsPolicy': value must be one of":                           {"dnsPolicy": "None"},
		"at '/affinity/nodeAffinity': got null, want object":              {"affinity": map[string]any{"nodeAffinity": nil}},
	} {
		release := "fl"
		if values["nameOverride"] != nil {
			release = "1"
		}
		if _, err := renderWith(t, folder, "fairlead-system", values, renderOptions{release: release}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
}

// A chart that depends on this one passes on its global values, and the value that its condition names.
func TestTheChartMayBeADependency(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "platform")
	if err := os.CopyFS(filepath.Join(folder, "charts", "fairlead"), os.DirFS(generated(t))); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"Chart.yaml":  "{apiVersion: v2, name: platform, version: 1.0.0, dependencies: [{name: fairlead, version: 1.2.3, condition: fairlead.enabled}]}",
		"values.yaml": "{global: {team: a}, fairlead: {enabled: true, fullnameOverride: team-fairlead}}",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, enabled := range []bool{true, false} {
		manifests, err := render(t, folder, "a", map[string]any{"fairlead": map[string]any{"enabled": enabled}})
		if err != nil || strings.Contains(manifests, "name: team-fairlead-manager") != enabled {
			t.Errorf("enabled %t: %v in %d bytes", enabled, err, len(manifests))
		}
	}
}

// `helm upgrade --reuse-values` leaves out every value that the previous chart did not have.
func TestAValueThatIsMissingIsNotTakenForFalse(t *testing.T) {
	folder := generated(t)
	content, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := sigsyaml.Unmarshal(content, &values); err != nil || len(values) < 20 {
		t.Fatalf("%d values, %v", len(values), err)
	}
	for name := range values {
		_, err := render(t, folder, "fairlead-system", map[string]any{name: nil})
		if err == nil || !strings.Contains(err.Error(), name+" has no value, not even the default") || !strings.Contains(err.Error(), "--reset-then-reuse-values") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestValuesReachWhereTheyBelong(t *testing.T) {
	folder := generated(t)
	digest := "sha256:" + strings.Repeat("0", 64)
	manifests, err := render(t, folder, "a", map[string]any{
		"image":         map[string]any{"repository": "registry.example.com/fairlead", "digest": digest, "pullPolicy": "Always"},
		"configuration": map[string]any{"webhook": map[string]any{"drainDelay": "20s"}, "egress": map[string]any{"default": "Deny"}},
		"crds":          map[string]any{"keep": false},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"image: \"registry.example.com/fairlead@" + digest + "\"", "imagePullPolicy: Always",
		"drainDelay: 20s", "drainTimeout: 40s", "default: Deny", "port: 9443\n",
	} {
		if !strings.Contains(manifests, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(manifests, "resource-policy") {
		t.Error("keeps CRDs")
	}
	manifests, err = render(t, folder, "123", nil) // a name that is a number elsewhere
	if unquoted := regexp.MustCompile(`[:-] 123\n`).FindString(manifests); err != nil || unquoted != "" {
		t.Errorf("%v, or a namespace without quotes", err)
	}
	manifests, err = render(t, folder, "a", map[string]any{"crds": map[string]any{"enabled": false}})
	if err != nil || strings.Contains(manifests, "kind: CustomResourceDefinition\n") {
		t.Errorf("%v, or it has CRDs", err)
	}
	manifests, err = render(t, folder, "a", nil)
	if n := strings.Count(manifests, "helm.sh/resource-policy: keep"); err != nil || n != 4 || !strings.Contains(manifests, "image: \"fairlead:v1.2.3\"") {
		t.Errorf("%v, keeps %d CRDs", err, n)
	}
}

// A Deployment rolls when its configuration changes, and at no other time.
func TestAChangedConfigurationRollsTheDeployment(t *testing.T) {
	folder := generated(t)
	checksum := func(values map[string]any) string {
		manifests, err := render(t, folder, "a", values)
		if err != nil {
			t.Fatal(err)
		}
		sums := regexp.MustCompile("checksum/configuration: [0-9a-f]{64}").FindAllString(manifests, -1)
		if sums = slices.Compact(sums); len(sums) != 1 {
			t.Fatalf("checksums %q", sums)
		}
		return sums[0]
	}
	before := checksum(nil)
	if checksum(map[string]any{"configuration": map[string]any{"namespaces": []any{"shop"}}}) == before {
		t.Error("a changed configuration changes no Deployment")
	}
	if checksum(map[string]any{"networkPolicy": map[string]any{"enabled": true}}) != before {
		t.Error("another value does")
	}
}

// The component is for the overlay by which a user installs Argo CD.
func TestArgoCDGetsTheHealthAndTheActionsOfEachKind(t *testing.T) {
	memory := filesys.MakeFsInMemory()
	files, err := os.ReadDir(filepath.Join(config, "argocd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := file.Name()
		content, err := os.ReadFile(filepath.Join(config, "argocd", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := memory.WriteFile("/config/argocd/"+name, content); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: [settings.yaml]\ncomponents: [../config/argocd]\n",
		"settings.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {url: https://argocd.example.com}\n",
	} {
		if err := memory.WriteFile("/overlay/"+name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/overlay")
	if err != nil || built.Size() != 1 {
		t.Fatalf("%d objects, %v", built.Size(), err)
	}
	settings := built.Resources()[0]
	data := settings.GetDataMap()
	if settings.GetName() != "argocd-cm" || data["url"] == "" || len(data) != 8 {
		t.Errorf("%s has %d settings", settings.GetName(), len(data))
	}
	crds, err := filepath.Glob(filepath.Join(config, "crd", "bases", "*.yaml"))
	if err != nil || len(crds) != 4 {
		t.Fatalf("%d CRDs, %v", len(crds), err)
	}
	for _, path := range crds {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		if err := sigsyaml.Unmarshal(content, &crd.Object); err != nil {
			t.Fatal(err)
		}
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if !strings.Contains(data["resource.customizations.health."+group+"_"+kind], "obj.status") {
			t.Errorf("%s of %s has no script", kind, group)
		}
		if kind == "ClusterRebootPolicy" {
			continue // what is done to a policy is done in its namespace
		}
		if !strings.Contains(data["resource.customizations.actions."+group+"_"+kind], "The actions of a") {
			t.Errorf("%s of %s has no actions", kind, group)
		}
	}
}

// The notes tell the user the order of the removal, unless another installation owns the CRDs.
func TestTheNotesTellWhenTheCRDsAreToBeDeleted(t *testing.T) {
	for want, crds := range map[string]map[string]any{
		"leaves the CRDs": {"keep": true}, "deletes the CRDs after the operator": {"keep": false}, "": {"enabled": false},
	} {
		made, err := installed(t, generated(t), "a", map[string]any{"crds": crds})
		if err != nil {
			t.Fatal(err)
		}
		notes := made.Info.Notes
		if told := strings.Contains(notes, "kubectl delete crd"); told != (want != "") || !strings.Contains(notes, want) || strings.Contains(notes, "\n\n\n") {
			t.Errorf("%v: %s", crds, notes)
		}
	}
}
