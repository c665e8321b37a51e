// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	configMap, secret = "ConfigMap", "Secret"
	// home is the namespace of a scenario that has one.
	home = "load"
	// large is how many bytes each key of a large source has.
	large = 100 << 10
)

// source is a ConfigMap or a Secret.
type source struct{ kind, namespace, name string }

func (s source) String() string { return s.kind + " " + s.namespace + "/" + s.name }

// workload is a workload, with the sources that its pods read.
type workload struct {
	object  client.Object
	sources []source
}

// scenario is one of Reloader's.
type scenario struct {
	Name, Title string
	sources     []source
	workloads   []workload
	// size is how many bytes each key of a source has at least.
	size int
	// writers change a source every so often each.
	writers int
	every   time.Duration
	// choose picks the source of the n-th change of a writer. The default is any.
	choose func(r *rand.Rand, n int) source
	// annotations means that the annotations of a source change, and not its content.
	annotations bool
	// churn is the time between two new workloads. Each replaces the tenth before it. The default is none.
	churn time.Duration
}

// Scenarios returns the names of all, in their order.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func scenarios() []*scenario {
	return []*scenario{
		pairs("S1", "burst: changes of 10 ConfigMaps", 10, 100*time.Millisecond),
		shared("S2", "fan-out: 50 Deployments with one ConfigMap", 50),
		cardinality(),
		noChange(),
		churn(),
		pressure(),
		largeObjects(),
		kinds(),
		secrets(),
		references(),
	}
}

// pairs has one ConfigMap for each Deployment.
func pairs(name, title string, n int, every time.Duration) *scenario {
	s := &scenario{Name: name, Title: title, writers: 1, every: every}
	s.addPairs(home, n)
	return s
}

func (s *scenario) addPairs(namespace string, n int) {
	for i := range n {
		s.add(deployment, namespace, fmt.Sprintf("workload-%d", i), source{configMap, namespace, fmt.Sprintf("config-%d", i)})
	}
}

// add adds a workload that takes its environment from sources.
func (s *scenario) add(kind func(metav1.ObjectMeta, corev1.PodTemplateSpec) client.Object, namespace, name string, from ...source) {
	s.workloads = append(s.workloads, newWorkload(kind, namespace, name, environment(from...), from...))
	for _, of := range from {
		if !slices.Contains(s.sources, of) {
			s.sources = append(s.sources, of)
		}
	}
}

func shared(name, title string, n int) *scenario {
	s := &scenario{Name: name, Title: title, writers: 1, every: 5 * time.Second}
	for i := range n {
		s.add(deployment, home, fmt.Sprintf("workload-%d", i), source{configMap, home, "shared"})
	}
	return s
}

func cardinality() *scenario {
	s := pairs("S3", "high cardinality: 220 Deployments in 11 namespaces", 20, 200*time.Millisecond)
	for i := range 10 {
		s.addPairs(fmt.Sprintf("%s-%d", home, i), 20)
	}
	return s
}

func noChange() *scenario {
	s := pairs("S4", "no change of content: annotations of 10 ConfigMaps", 10, 100*time.Millisecond)
	s.annotations = true
	return s
}

func churn() *scenario {
	return &scenario{Name: "S5", Title: "churn: Deployments come and go, with one ConfigMap", writers: 1, every: 2 * time.Second,
		sources: []source{{configMap, home, "shared"}}, churn: 500 * time.Millisecond}
}

func pressure() *scenario {
	s := pairs("S7", "pressure: 10 writers, 50 ConfigMaps", 50, 100*time.Millisecond)
	s.writers = 10
	return s
}

func largeObjects() *scenario {
	s := pairs("S8", "large objects: 10 ConfigMaps of 200 KiB", 10, 2*time.Second)
	s.size = large
	return s
}

func kinds() *scenario {
	s := shared("S9", "kinds: 5 Deployments, 3 StatefulSets, 2 DaemonSets with one ConfigMap", 5)
	for i := range 3 {
		s.add(statefulSet, home, fmt.Sprintf("stateful-%d", i), s.sources...)
	}
	for i := range 2 {
		s.add(daemonSet, home, fmt.Sprintf("daemon-%d", i), s.sources...)
	}
	return s
}

// secrets change in turn with ConfigMaps.
func secrets() *scenario {
	s := &scenario{Name: "S10", Title: "Secrets and ConfigMaps in turn, 10 Deployments", writers: 1, every: 500 * time.Millisecond}
	of := map[string][]source{}
	for i := range 5 {
		of[secret] = append(of[secret], source{secret, home, fmt.Sprintf("secret-%d", i)})
		of[configMap] = append(of[configMap], source{configMap, home, fmt.Sprintf("config-%d", i)})
		s.add(deployment, home, fmt.Sprintf("secret-%d", i), of[secret][i])
	}
	for i := range 3 {
		s.add(deployment, home, fmt.Sprintf("config-%d", i), of[configMap][i])
	}
	for i := range 2 {
		s.add(deployment, home, fmt.Sprintf("both-%d", i), of[configMap][i], of[secret][i])
	}
	s.sources = slices.Concat(of[secret], of[configMap]) // two of the ConfigMaps have no workload
	s.choose = func(r *rand.Rand, n int) source { return of[[]string{secret, configMap}[n%2]][r.IntN(5)] }
	return s
}

// references has each way in which a pod refers to a ConfigMap.
func references() *scenario {
	s := &scenario{Name: "S13", Title: "references: init containers, keys, volumes, projections", writers: 1, every: 2 * time.Second}
	for i := range 5 {
		s.sources = append(s.sources, source{configMap, home, fmt.Sprintf("config-%d", i)})
	}
	for i := range s.sources {
		first, second := s.sources[i], s.sources[(i+1)%len(s.sources)]
		s.workloads = append(s.workloads, newWorkload(deployment, home, fmt.Sprintf("workload-%d", i), everyReference(first, second), first, second))
	}
	return s
}

func newWorkload(kind func(metav1.ObjectMeta, corev1.PodTemplateSpec) client.Object, namespace, name string, pod corev1.PodSpec, from ...source) workload {
	pod.TerminationGracePeriodSeconds = ptr.To[int64](0)
	object := kind(metav1.ObjectMeta{
		Namespace: namespace, Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"},
	}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: name}}, Spec: pod})
	return workload{object: object, sources: from}
}

// appLabel has the name of the workload on its pods.
const appLabel = "app"

func deployment(metadata metav1.ObjectMeta, template corev1.PodTemplateSpec) client.Object {
	return &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
		}},
	}}
}

func statefulSet(metadata metav1.ObjectMeta, template corev1.PodTemplateSpec) client.Object {
	return &appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{
		ServiceName: metadata.Name, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
}

func daemonSet(metadata metav1.ObjectMeta, template corev1.PodTemplateSpec) client.Object {
	return &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
}

// environment is a pod that takes its environment from sources.
func environment(from ...source) corev1.PodSpec {
	container := corev1.Container{Name: "main", Image: "none"}
	for _, of := range from {
		reference := corev1.LocalObjectReference{Name: of.name}
		if of.kind == secret {
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference}})
		} else {
			container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference}})
		}
	}
	return corev1.PodSpec{Containers: []corev1.Container{container}}
}

// keys of each source.
var keys = []string{"key1", "key2"}

// everyReference is a pod that refers to the first ConfigMap in an init container, by keys and in volumes, and to a key of the second.
func everyReference(first, second source) corev1.PodSpec {
	before := environment(first).Containers[0]
	before.Name = "before"
	main, sidecar := corev1.Container{Name: "main", Image: "none"}, corev1.Container{Name: "sidecar", Image: "none"}
	reference := corev1.LocalObjectReference{Name: first.name}
	for _, key := range keys {
		main.Env = append(main.Env, corev1.EnvVar{Name: strings.ToUpper(key), ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: reference, Key: key},
		}})
	}
	projected := func(of source, path string) corev1.VolumeProjection {
		return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: of.name}, Items: []corev1.KeyToPath{{Key: keys[0], Path: path}},
		}}
	}
	volumes := []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: reference}}},
		{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{projected(first, "first"), projected(second, "second")},
		}}},
	}
	for _, volume := range volumes {
		sidecar.VolumeMounts = append(sidecar.VolumeMounts, corev1.VolumeMount{Name: volume.Name, MountPath: "/etc/" + volume.Name})
	}
	return corev1.PodSpec{
		InitContainers: []corev1.Container{before}, Containers: []corev1.Container{main, sidecar}, Volumes: volumes,
	}
}
