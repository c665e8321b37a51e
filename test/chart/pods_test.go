// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// deployments are those of the chart by their names.
func deployments(t *testing.T, values map[string]any) (map[string]appsv1.Deployment, map[string]*unstructured.Unstructured) {
	t.Helper()
	manifests, err := render(t, generated(t), "a", values)
	if err != nil {
		t.Fatal(err)
	}
	objects, all := objectsOf(t, manifests), map[string]appsv1.Deployment{}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &d, true); err != nil {
			t.Fatalf("%s: %v", id(o), err)
		}
		all[d.Name] = d
	}
	return all, objects
}

// Of the split layout, which has each sort of Deployment, and of the pod of its test.
func TestEachValueOfAPodIsOnEachPod(t *testing.T) {
	values := map[string]any{
		"layout": "split", "replicaCount": 3, "serviceMonitor": map[string]any{"enabled": true},
		"podLabels":          map[string]any{"team": "platform", "sidecar.istio.io/inject": "false"},
		"podAnnotations":     map[string]any{"prometheus.io/scrape": "false"},
		"podSecurityContext": map[string]any{"runAsUser": nil, "runAsGroup": nil, "fsGroup": 1},
		"securityContext":    map[string]any{"seLinuxOptions": map[string]any{"level": "s0"}},
		"env":                []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy.example.com"}},
		"extraVolumes":       []any{map[string]any{"name": "clients", "secret": map[string]any{"secretName": "clients"}}},
		"extraVolumeMounts":  []any{map[string]any{"name": "clients", "mountPath": "/etc/clients"}},
		"tolerations":        []any{map[string]any{"operator": "Exists"}},
		"nodeSelector":       map[string]any{"pool": "system"},
		"affinity":           map[string]any{"nodeAffinity": map[string]any{}},
		"imagePullSecrets":   []any{map[string]any{"name": "registry"}},
		"dnsPolicy":          "Default",
		"strategy":           map[string]any{"type": "Recreate"},
		"priorityClass":      map[string]any{"create": false, "name": "system-cluster-critical"},
		"topologySpreadConstraints": []any{
			map[string]any{"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
		},
	}
	all, objects := deployments(t, values)
	if len(all) != 2 {
		t.Fatalf("%d Deployments", len(all))
	}
	for id := range objects {
		if strings.HasPrefix(id, "PriorityClass ") {
			t.Errorf("there is %s", id)
		}
	}
	for name, d := range all {
		pod := d.Spec.Template.Spec
		checkPod(t, name, d.Spec.Template.Labels, d.Spec.Template.Annotations, pod)
		container := pod.Containers[0]
		if last := container.Env[len(container.Env)-1]; last.Name != "HTTPS_PROXY" || container.Env[0].Name != "POD_NAME" {
			t.Errorf("%s: environment %v", name, container.Env)
		}
		var volumes, mounts []string
		for _, v := range pod.Volumes {
			volumes = append(volumes, v.Name)
		}
		for _, m := range container.VolumeMounts {
			mounts = append(mounts, m.Name)
		}
		if diff := cmp.Diff([]string{"config", "metrics", "clients"}, volumes) + cmp.Diff(volumes, mounts); diff != "" {
			t.Errorf("%s: volumes and mounts (-want +got):\n%s", name, diff)
		}
		if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || pod.PriorityClassName != "system-cluster-critical" || pod.DNSPolicy != corev1.DNSDefault {
			t.Errorf("%s: strategy %v, priority class %q, DNS policy %q", name, d.Spec.Strategy, pod.PriorityClassName, pod.DNSPolicy)
		}
		spread := pod.TopologySpreadConstraints
		if len(spread) != 1 || spread[0].TopologyKey != "topology.kubernetes.io/zone" {
			t.Fatalf("%s: spread by %v", name, spread)
		}
		// Those of this Deployment alone are counted, and no label of the selector is of a user.
		if diff := cmp.Diff(d.Spec.Selector, spread[0].LabelSelector); diff != "" {
			t.Errorf("%s: spread (-selector +spread):\n%s", name, diff)
		}
		if len(d.Spec.Selector.MatchLabels) != 2 {
			t.Errorf("%s: selects %v", name, d.Spec.Selector)
		}
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(hooks(t, "a", values)["Pod a/fairlead-check"].Object, &pod); err != nil {
		t.Fatal(err)
	}
	checkPod(t, "the pod of the test", pod.Labels, pod.Annotations, pod.Spec)
	none, _ := deployments(t, map[string]any{"priorityClass": map[string]any{"create": false}, "topologySpreadConstraints": []any{}, "nodeSelector": map[string]any{"kubernetes.io/os": nil}})
	if pod := none["fairlead-manager"].Spec.Template.Spec; pod.PriorityClassName != "" || len(pod.TopologySpreadConstraints) != 0 || len(pod.NodeSelector) != 0 {
		t.Errorf("class %q, spread %v, nodes %v, want none", pod.PriorityClassName, pod.TopologySpreadConstraints, pod.NodeSelector)
	}
}

// checkPod wants what TestEachValueOfAPodIsOnEachPod sets for every pod.
func checkPod(t *testing.T, name string, labels, annotations map[string]string, pod corev1.PodSpec) {
	t.Helper()
	if labels["team"] != "platform" || labels["sidecar.istio.io/inject"] != "false" || annotations["prometheus.io/scrape"] != "false" {
		t.Errorf("%s: labels %v, annotations %v", name, labels, annotations)
	}
	if s := pod.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || *s.FSGroup != 1 || !*s.RunAsNonRoot || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: security context %v", name, s)
	}
	if s := pod.Containers[0].SecurityContext; s.SELinuxOptions.Level != "s0" || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || s.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%s: security context of the container %v", name, s)
	}
	if diff := cmp.Diff(map[string]string{"kubernetes.io/os": "linux", "pool": "system"}, pod.NodeSelector); diff != "" {
		t.Errorf("%s: nodeSelector (-want +got):\n%s", name, diff)
	}
	if len(pod.Tolerations) != 1 || pod.Affinity.NodeAffinity == nil || len(pod.ImagePullSecrets) != 1 {
		t.Errorf("%s: tolerations %v, affinity %v, pull secrets %v", name, pod.Tolerations, pod.Affinity, pod.ImagePullSecrets)
	}
}

// Ports are those of the configuration: in the container, for the probes and in the Services.
func TestPortsFollowTheConfiguration(t *testing.T) {
	all, objects := deployments(t, map[string]any{"layout": "split", "hostNetwork": true, "configuration": map[string]any{
		"webhook": map[string]any{"port": 10250}, "metrics": map[string]any{"bindAddress": "[::]:10251"}, "health": map[string]any{"bindAddress": "0.0.0.0:10252"},
	}})
	for name, want := range map[string]map[string]int32{
		"fairlead-webhook": {"webhook": 10250, "metrics": 10251, "probes": 10252}, "fairlead-manager": {"metrics": 10251, "probes": 10252},
	} {
		container, got := all[name].Spec.Template.Spec.Containers[0], map[string]int32{}
		for _, port := range container.Ports {
			got[port.Name] = port.ContainerPort
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, diff)
		}
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe.HTTPGet.Port.StrVal != "probes" {
				t.Errorf("%s: a probe of port %s", name, probe.HTTPGet.Port.String())
			}
		}
	}
	for name, want := range map[string]struct {
		port, target string
	}{"fairlead-webhook": {"443", "webhook"}, "fairlead-metrics": {"10251", "metrics"}} {
		ports, _, _ := unstructured.NestedSlice(objects["Service a/"+name].Object, "spec", "ports")
		of := ports[0].(map[string]any)
		if of["targetPort"] != want.target || fmt.Sprint(of["port"]) != want.port {
			t.Errorf("Service %s: %v", name, of)
		}
	}
	// What serves no webhooks keeps the network of pods, and takes no port of a node.
	if all["fairlead-manager"].Spec.Template.Spec.HostNetwork || !all["fairlead-webhook"].Spec.Template.Spec.HostNetwork {
		t.Error("another Deployment than that of the webhooks has the network of nodes")
	}
}

// A user's own affinity and strategy are kept, and replicas stay apart.
func TestTheNetworkOfNodesKeepsTheAffinityOfTheUser(t *testing.T) {
	all, _ := deployments(t, map[string]any{
		"hostNetwork": true, "affinity": map[string]any{"nodeAffinity": map[string]any{}}, "dnsPolicy": "Default",
		"strategy": map[string]any{"type": "Recreate"},
	})
	d := all["fairlead-manager"]
	pod := d.Spec.Template.Spec
	if pod.Affinity.NodeAffinity == nil || len(pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) != 1 ||
		pod.DNSPolicy != corev1.DNSDefault || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("affinity %v, DNS policy %s, strategy %v", pod.Affinity, pod.DNSPolicy, d.Spec.Strategy)
	}
}

// What selects or reads objects by their labels and annotations finds those that a user gave.
func TestObjectsHaveTheLabelsAndAnnotationsThatTheyAreGiven(t *testing.T) {
	enforcer := map[string]any{"admissions.enforcer/disabled": "true"}
	_, objects := deployments(t, map[string]any{
		"layout": "split", "prometheusRules": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true}, "monitoringLabels": map[string]any{"release": "kube-prometheus-stack"},
		"webhook": map[string]any{"annotations": enforcer}, "serviceAccount": map[string]any{"annotations": map[string]any{"eks.amazonaws.com/role-arn": "arn"}},
		"certificates": map[string]any{"source": "certManager", "caInjector": true},
	})
	got := map[string]string{}
	for id, o := range objects {
		for _, all := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
			for _, name := range []string{"release", "admissions.enforcer/disabled", "eks.amazonaws.com/role-arn"} {
				if value := all[name]; value != "" {
					got[id] = value
				}
			}
		}
		if strings.HasSuffix(o.GetKind(), "WebhookConfiguration") && o.GetAnnotations()["cert-manager.io/inject-ca-from-secret"] == "" {
			t.Errorf("%s: the annotation for cert-manager is lost", id)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"ServiceMonitor a/fairlead-metrics": "kube-prometheus-stack", "PrometheusRule a/fairlead": "kube-prometheus-stack",
		"PrometheusRule a/fairlead-externalservice": "kube-prometheus-stack", "PrometheusRule a/fairlead-rebootpolicy": "kube-prometheus-stack",
		"PrometheusRule a/fairlead-chaospod":                     "kube-prometheus-stack",
		"MutatingWebhookConfiguration /fairlead-externalservice": "true", "ValidatingWebhookConfiguration /fairlead-externalservice": "true",
		"MutatingWebhookConfiguration /fairlead-rebootpolicy": "true", "ValidatingWebhookConfiguration /fairlead-rebootpolicy": "true",
		"MutatingWebhookConfiguration /fairlead-clusterrebootpolicy": "true", "ValidatingWebhookConfiguration /fairlead-clusterrebootpolicy": "true",
		"MutatingWebhookConfiguration /fairlead-chaospod": "true", "ValidatingWebhookConfiguration /fairlead-chaospod": "true",
		"ServiceAccount a/fairlead-manager": "arn", "ServiceAccount a/fairlead-webhook": "arn",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
