// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"
)

// parsed are values as a user writes them.
func parsed(t *testing.T, values string) (of map[string]any) {
	t.Helper()
	if err := sigsyaml.Unmarshal([]byte(values), &of); err != nil {
		t.Fatal(err)
	}
	return of
}

// typed is an object of the chart as a type of Kubernetes, which knows all its fields.
func typed[T any](t *testing.T, objects map[string]*unstructured.Unstructured, id string) (of T) {
	t.Helper()
	if objects[id] == nil {
		t.Fatalf("there is no %s among %q", id, slices.Sorted(maps.Keys(objects)))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[id].Object, &of, true); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return of
}

func TestTheRegistryOfTheImageMayBeAnother(t *testing.T) {
	released := released(t, "v1.2.3", "a") // of registry.example.com/fairlead
	digest := "@sha256:" + strings.Repeat("a", 64)
	for values, want := range map[string]string{
		"{}":                                    "registry.example.com/fairlead" + digest,
		"image: {registry: mirror.example.org}": "mirror.example.org/fairlead" + digest,
		"{image: {registry: mirror.example.org:5000/proxy, repository: team/fairlead, tag: v1}}":                          "mirror.example.org:5000/proxy/team/fairlead:v1",
		"{image: {registry: one.example.org, repository: two.example.org/a}, global: {imageRegistry: three.example.org}}": "three.example.org/a" + digest,
		"{image: {repository: localhost/a}, global: {imageRegistry: localhost:5000}}":                                     "localhost:5000/a" + digest,
		"{image: {repository: a/b}, global: {imageRegistry: \"\", other: {}}}":                                            "a/b" + digest,
	} {
		made, err := installed(t, released, "a", parsed(t, values))
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		if got := images(t, made); !slices.Equal(got, []string{`image: "` + want + `"`}) {
			t.Errorf("%s: %q, want %s", values, got, want)
		}
	}
}

// Names do not follow the release unless a value says so, and then all do.
func TestNamesFollowTheOverrides(t *testing.T) {
	everything := "layout: split, networkPolicy: {enabled: true, egress: [{}]}, admissionPolicies: {enabled: true}, flowSchemas: {enabled: true}, " +
		"serviceMonitor: {enabled: true}, metricsCertificate: {enabled: true}, prometheusRules: {enabled: true}, dashboard: {enabled: true}, " +
		"configuration: {rebootPolicies: {workloads: [{group: a.example.com, version: v1, kind: A}]}}"
	for _, c := range []struct{ release, values, want string }{
		{"fl", "", "fairlead"},
		{"fl", "nameOverride: reboots", "fl-reboots"},
		{"fairlead-two", "nameOverride: fairlead", "fairlead-two"},
		{"fl", "nameOverride: reboots, fullnameOverride: team", "team"},
	} {
		manifests, err := renderWith(t, generated(t), "a", parsed(t, "{"+strings.TrimPrefix(c.values+", ", ", ")+everything+"}"), renderOptions{release: c.release})
		if err != nil {
			t.Fatal(err)
		}
		objects := objectsOf(t, manifests)
		if len(objects) < 40 {
			t.Fatalf("%d objects", len(objects))
		}
		for id, o := range objects {
			if name := o.GetName(); o.GetKind() != "CustomResourceDefinition" && name != c.want && !strings.HasPrefix(name, c.want+"-") {
				t.Errorf("release %s, %s: %s", c.release, c.values, id)
			}
		}
		service, _, _ := unstructured.NestedString(objects["CustomResourceDefinition /chaospods.chaos.fairlead.dev"].Object, "spec", "conversion", "webhook", "clientConfig", "service", "name")
		if service != c.want+"-webhook" {
			t.Errorf("release %s, %s: a CRD calls the Service %s", c.release, c.values, service)
		}
	}
}

func TestEachObjectHasTheCommonLabelsAndNoSelectorHas(t *testing.T) {
	values := parsed(t, "{layout: split, commonLabels: {team: platform}, networkPolicy: {enabled: true, egress: [{}]}, dashboard: {enabled: true}, serviceMonitor: {enabled: true}}")
	_, objects := deployments(t, values)
	maps.Copy(objects, hooks(t, "a", values))
	for id, o := range objects {
		if o.GetLabels()["team"] != "platform" {
			t.Errorf("%s has the labels %v", id, o.GetLabels())
		}
		delete(o.Object, "metadata")
		if content, err := sigsyaml.Marshal(o.Object); err != nil || strings.Contains(string(content), "team: platform") {
			t.Errorf("%s has it elsewhere as well: %v", id, err)
		}
	}
}

func TestEachDeploymentHasTheValuesOfDeployments(t *testing.T) {
	all, _ := deployments(t, parsed(t, `{layout: split, replicaCount: 3, revisionHistoryLimit: 0, deploymentAnnotations: {a: b},
		startupProbe: {failureThreshold: 90}, livenessProbe: {periodSeconds: 20, timeoutSeconds: 9}, readinessProbe: {periodSeconds: 4},
		webhook: {resources: {limits: {memory: 64Mi}}}}`))
	numbers := func(p *corev1.Probe) [3]int32 { return [3]int32{p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold} }
	for name, d := range all {
		if *d.Spec.Replicas != 3 || *d.Spec.RevisionHistoryLimit != 0 || d.Annotations["a"] != "b" {
			t.Errorf("%s: %d replicas, %d revisions, annotations %v", name, *d.Spec.Replicas, *d.Spec.RevisionHistoryLimit, d.Annotations)
		}
		c := d.Spec.Template.Spec.Containers[0]
		want := [][3]int32{{2, 2, 90}, {20, 9, 3}, {4, 3, 3}}
		if diff := cmp.Diff(want, [][3]int32{numbers(c.StartupProbe), numbers(c.LivenessProbe), numbers(c.ReadinessProbe)}); diff != "" {
			t.Errorf("%s: probes (-want +got):\n%s", name, diff)
		}
		memory := map[string]string{"fairlead-manager": "512Mi", "fairlead-webhook": "64Mi"}[name]
		if got := c.Resources.Limits.Memory().String(); got != memory {
			t.Errorf("%s: %s of memory, want %s", name, got, memory)
		}
	}
}

func TestThePodDisruptionBudgetIsThatOfTheValues(t *testing.T) {
	const id = "PodDisruptionBudget a/fairlead-webhook"
	for values, want := range map[string]string{
		"podDisruptionBudget: {maxUnavailable: 2}":                  "maxUnavailable 2",
		"podDisruptionBudget: {maxUnavailable: 50%}":                "maxUnavailable 50%",
		"podDisruptionBudget: {minAvailable: 1}":                    "minAvailable 1",
		"podDisruptionBudget: {minAvailable: 0, maxUnavailable: 2}": "minAvailable 0",
	} {
		_, objects := deployments(t, parsed(t, "{layout: split, "+values+"}"))
		spec, got := typed[policyv1.PodDisruptionBudget](t, objects, id).Spec, ""
		if spec.MaxUnavailable != nil {
			got = "maxUnavailable " + spec.MaxUnavailable.String()
		}
		if spec.MinAvailable != nil {
			got += "minAvailable " + spec.MinAvailable.String()
		}
		if got != want || spec.Selector == nil {
			t.Errorf("%s: %s", values, got)
		}
	}
	if _, objects := deployments(t, parsed(t, "{layout: split, podDisruptionBudget: {enabled: false}}")); objects[id] != nil {
		t.Error("there is one which is not enabled")
	}
}

// The rights are those of the ServiceAccounts, which the chart need not make.
func TestServiceAccountsMayBeNamedAndExist(t *testing.T) {
	values := `layout: split, serviceAccount: {create: %s, name: pods, automount: false}, webhook: {serviceAccountName: hooks},
		configuration: {rebootPolicies: {workloads: [{group: a.example.com, version: v1, kind: A}]}}`
	for _, create := range []string{"true", "false"} {
		all, objects := deployments(t, parsed(t, "{"+strings.Replace(values, "%s", create, 1)+"}"))
		bound := map[string]int{}
		for id, o := range objects {
			subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
			for _, s := range subjects {
				if name := s.(map[string]any)["name"].(string); s.(map[string]any)["kind"] == "ServiceAccount" {
					bound[name]++
					if name != "pods" && name != "hooks" {
						t.Errorf("%s is for %s", id, name)
					}
				}
			}
		}
		if bound["pods"] < 6 || bound["hooks"] < 4 {
			t.Errorf("bindings %v", bound)
		}
		for name, want := range map[string]string{"fairlead-manager": "pods", "fairlead-webhook": "hooks"} {
			pod := all[name].Spec.Template.Spec
			if pod.ServiceAccountName != want || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("%s runs as %s, and mounts its token: %v", name, pod.ServiceAccountName, pod.AutomountServiceAccountToken)
			}
			has := objects["ServiceAccount a/"+want] != nil
			if has != (create == "true") {
				t.Errorf("create %s: there is the ServiceAccount %s: %t", create, want, has)
			}
			if has && *typed[corev1.ServiceAccount](t, objects, "ServiceAccount a/"+want).AutomountServiceAccountToken {
				t.Errorf("the token of %s is mounted", want)
			}
		}
	}
	all, _ := deployments(t, nil)
	if pod := all["fairlead-manager"].Spec.Template.Spec; pod.AutomountServiceAccountToken != nil {
		t.Error("the default says something about tokens")
	}
}

func TestEachWebhookHasTheTimeout(t *testing.T) {
	manifests, err := render(t, generated(t), "a", parsed(t, "webhook: {timeoutSeconds: 17}"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`timeoutSeconds: (\d+)\n`).FindAllStringSubmatch(manifests, -1)
	hooks := 0
	for _, f := range found {
		if f[1] == "17" {
			hooks++
		}
	}
	if hooks != 8 || strings.Count(manifests, "admissionReviewVersions:") != hooks {
		t.Errorf("%d of the webhooks have it: %q", hooks, found)
	}
}

func TestEgressIsLimitedWhereRulesAreGiven(t *testing.T) {
	const id = "NetworkPolicy a/fairlead-allow-egress"
	_, objects := deployments(t, parsed(t, "{layout: split, networkPolicy: {enabled: true, egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 443}]}]}}"))
	spec := typed[networkingv1.NetworkPolicy](t, objects, id).Spec
	if !slices.Equal(spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}) || len(spec.Egress) != 1 || spec.Egress[0].To[0].IPBlock.CIDR != "192.0.2.0/24" || spec.Egress[0].Ports[0].Port.IntValue() != 443 {
		t.Errorf("%+v", spec)
	}
	for _, name := range []string{"fairlead-manager", "fairlead-webhook"} {
		labels := typed[appsv1.Deployment](t, objects, "Deployment a/"+name).Spec.Template.Labels
		for key, value := range spec.PodSelector.MatchLabels {
			if labels[key] != value {
				t.Errorf("it does not select the pods of %s", name)
			}
		}
	}
	for _, values := range []string{"networkPolicy: {enabled: true}", "networkPolicy: {egress: [{}]}"} {
		if _, objects := deployments(t, parsed(t, values)); objects[id] != nil {
			t.Errorf("%s: egress is limited", values)
		}
	}
}

// In the namespaces that the operator works in, and in no other one.
func TestSecretsOfSomeNamespacesMayBeWatched(t *testing.T) {
	all, objects := deployments(t, parsed(t, "{namespaces: [shop, bank], clusterRole: false, secrets: wide}"))
	may := map[string][]string{}
	for _, o := range objects {
		if !strings.HasSuffix(o.GetKind(), "Role") {
			continue
		}
		var role rbacv1.Role
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "secrets") && slices.Contains(rule.Verbs, "list") {
				may[o.GetNamespace()] = append(may[o.GetNamespace()], rule.Verbs...)
			}
		}
	}
	if diff := cmp.Diff(map[string][]string{"shop": {"list", "watch"}, "bank": {"list", "watch"}}, may); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	binding := typed[rbacv1.RoleBinding](t, objects, "RoleBinding bank/fairlead-secrets-namespace")
	if binding.RoleRef.Name != "fairlead-secrets-namespace" || binding.Subjects[0].Name != "fairlead-manager" || binding.Subjects[0].Namespace != "a" {
		t.Errorf("%+v", binding)
	}
	built, err := Build(config, Overlay{
		Namespace: "a", Resources: []string{"default"}, Namespaces: []string{"shop", "bank"}, Components: []string{"namespaced/without-cluster-role", "namespaced/watch-secrets"},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, sorted(t, index(built)), sorted(t, objects))
	if args := all["fairlead-manager"].Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--set=rebootPolicies.sources=Watch") {
		t.Errorf("the operator does not watch them: %q", args)
	}
}

func TestTheDashboardHasTheLabelsThatASidecarLooksFor(t *testing.T) {
	_, objects := deployments(t, parsed(t, "dashboard: {enabled: true, labels: {team: \"1\"}}"))
	o := typed[corev1.ConfigMap](t, objects, "ConfigMap a/fairlead-dashboard")
	if o.Labels["team"] != "1" || o.Labels["grafana_dashboard"] != "1" || !strings.Contains(o.Data["fairlead.json"], "legendFormat") {
		t.Errorf("labels %v, %d bytes", o.Labels, len(o.Data["fairlead.json"]))
	}
}

func TestAdditionalObjectsAreRendered(t *testing.T) {
	_, objects := deployments(t, parsed(t, `extraObjects:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ include "fairlead.fullname" . }}-one', namespace: a}}
- |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: {{ .Release.Name }}-two, namespace: a}
`))
	for _, id := range []string{"ConfigMap a/fairlead-one", "ConfigMap a/fl-two"} {
		if objects[id] == nil {
			t.Errorf("there is no %s", id)
		}
	}
}
