// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const world = `
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: first}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none, envFrom: [{secretRef: {name: login}}]}]}
---
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: db}
spec: {ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [ADDRESS]}], healthCheck: {tcpSocket: {}, interval: 1s}}
---
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: web}
spec:
  targets: [{kind: Deployment, name: web}]
  triggers: [{name: config, type: ConfigChange}]
  debounce: {quietPeriod: 1s}
  cooldown: 0s
  verification: {soak: 1s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: asking, annotations: {fairlead.dev/restart-on-change: "true"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: asking}}
  template:
    metadata: {labels: {app: asking}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none, envFrom: [{secretRef: {name: login}}]}]}
---
apiVersion: autoreboot.fairlead.dev/v1
kind: ClusterRebootPolicy
metadata: {name: WORLD}
spec:
  namespaceSelector: {matchLabels: {world: WORLD}}
  template:
    spec:
      targets: [{kind: Deployment, selector: {}, optIn: Annotation}]
      triggers: [{name: config, type: ConfigChange}]
      debounce: {quietPeriod: 1s}
      cooldown: 0s
      verification: {soak: 1s}
---
apiVersion: chaos.fairlead.dev/v1
kind: ChaosPod
metadata: {name: web}
spec:
  target: {workload: {kind: Deployment, name: web}}
  schedule: {cron: "0 0 29 2 *"}
  filter: {minAge: 0s}
  verification: {soak: 1s}
  dryRun: false
`

// acts are the reasons of the events by which the objects of a world say that they act, and where these are.
var acts = []struct{ reason, kind, name string }{
	{"RestartStarted", "Deployment", "web"}, {"RestartStarted", "Deployment", "asking"},
	{"PodEvicted", "ChaosPod", "web"}, {"FaultInjected", "ExternalService", "db"},
}

// workloads are the Deployments of a world, with their replicas.
var workloads = map[string]int32{"web": 3, "asking": 1}

// inNamespace labels the namespace as one of the world, as a backup of the namespace does.
func (s *suite) inNamespace() {
	s.Helper()
	s.Kubectl("label", "namespace", s.Namespace, "world="+s.world)
}

// makeWorld makes one, and has each of its objects act once: what requested it stays in the objects.
func (s *suite) makeWorld() {
	s.Helper()
	s.world = "world-" + s.Namespace
	s.inNamespace()
	s.Apply(strings.NewReplacer("ADDRESS", s.database, "WORLD", s.world).Replace(world))
	s.isSound()
	s.Kubectl("annotate", "externalservice", "db", "networking.fairlead.dev/inject-fault=BlackHole for=1s")
	s.Kubectl("annotate", "rebootpolicy", "web", "autoreboot.fairlead.dev/restart-now=monday")
	s.Tells("RebootPolicy", "web", "RestartVerified", 1)
	s.Kubectl("annotate", "rebootpolicy", s.world, "autoreboot.fairlead.dev/restart-now=monday")
	s.Tells("RebootPolicy", s.world, "RestartVerified", 1)
	s.Kubectl("annotate", "chaospod", "web", "chaos.fairlead.dev/run-now=monday")
	s.Tells("ChaosPod", "web", "Recovered", 1)
	s.Tells("ExternalService", "db", "FaultEnded", 1)
	for _, act := range acts {
		s.Tells(act.kind, act.name, act.reason, 1)
	}
	s.isSound()
}

// rotates changes the Secret, and waits until both workloads were restarted for it.
func (s *suite) rotates(password string) {
	s.Helper()
	before := s.templates()
	s.Kubectl("patch", "secret", "login", "--patch", `{"stringData": {"password": "`+password+`"}}`)
	s.Eventually(func() error {
		for name, template := range s.templates() {
			if equality.Semantic.DeepEqual(before[name], template) {
				return fmt.Errorf("%s is not restarted: %s", name, s.Kubectl("get", "rebootpolicies", "-o", "yaml"))
			}
		}
		return nil
	})
	s.isSound()
}

// isSound waits until the workloads are complete, every object is Ready, and the database is published.
func (s *suite) isSound() {
	s.Helper()
	s.Eventually(func() error {
		for name, replicas := range workloads {
			if err := s.isComplete(name, replicas); err != nil {
				return err
			}
		}
		for _, kind := range kinds {
			if err := s.isReady(kind); err != nil {
				return err
			}
		}
		if found := s.published("db"); !slices.Equal(found, []string{s.database}) {
			return fmt.Errorf("%v is published as ready, want %s", found, s.database)
		}
		return s.hasSeen()
	})
}

// isComplete returns an error until a Deployment has its replicas.
func (s *suite) isComplete(name string, replicas int32) error {
	var d appsv1.Deployment
	if err := s.Get(name, &d); err != nil {
		return err
	}
	if st := d.Status; st.ObservedGeneration < d.Generation || st.UpdatedReplicas != replicas || st.AvailableReplicas != replicas || st.Replicas != replicas {
		return fmt.Errorf("Deployment %s: %s", name, framework.Text(st))
	}
	return nil
}

// isReady returns an error until the operator has observed the objects of a kind, and each is Ready.
func (s *suite) isReady(kind schema.GroupVersionKind) error {
	objects, err := s.list(kind)
	if err != nil || len(objects) == 0 {
		return fmt.Errorf("%d objects of %s: %w", len(objects), kind.Kind, err)
	}
	for _, object := range objects {
		status, _ := object.Object["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		ready := slices.ContainsFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			return condition["type"] == "Ready" && condition["status"] == "True"
		})
		if !ready || status["observedGeneration"] != object.GetGeneration() {
			return fmt.Errorf("%s %s of generation %d: %s", kind.Kind, object.GetName(), object.GetGeneration(), framework.Text(status))
		}
	}
	return nil
}

// hasSeen returns an error until the RebootPolicies have the Secret as their baseline: one that is created and changed before
// is only created for them. The ClusterRebootPolicy that is there has made one of the two.
func (s *suite) hasSeen() error {
	policies, err := s.list(rebootPolicy)
	if err != nil || len(policies) != 2 {
		return fmt.Errorf("%d RebootPolicies: %w", len(policies), err)
	}
	owners, err := s.list(clusterRebootPolicy)
	if err != nil || len(owners) != 1 {
		return fmt.Errorf("%d ClusterRebootPolicies: %w", len(owners), err)
	}
	for _, policy := range policies {
		if policy.GetName() == s.world && !metav1.IsControlledBy(&policy, &owners[0]) {
			return fmt.Errorf("RebootPolicy %s belongs to %s, and not to the ClusterRebootPolicy", policy.GetName(), framework.Text(policy.GetOwnerReferences()))
		}
		triggers, _, err := unstructured.NestedSlice(policy.Object, "status", "triggers")
		if err != nil || len(triggers) != 1 || triggers[0].(map[string]any)["fingerprint"] == nil {
			return fmt.Errorf("the Secret is not observed by %s: %s: %w", policy.GetName(), framework.Text(triggers), err)
		}
	}
	return nil
}

// list returns the objects of the namespace, and of the kind that has none the one of the world.
func (s *suite) list(kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind)
	err := s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace))
	if kind.Kind == clusterRebootPolicy.Kind {
		list.Items = slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetName() != s.world })
	}
	return list.Items, err
}

// published are the addresses that are ready.
func (s *suite) published(service string) (ready []string) {
	s.Helper()
	for _, slice := range s.Slices(service) {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				ready = append(ready, endpoint.Addresses...)
			}
		}
	}
	return ready
}

// templates are the pod templates of the workloads.
func (s *suite) templates() map[string]corev1.PodTemplateSpec {
	s.Helper()
	found := map[string]corev1.PodTemplateSpec{}
	for name := range workloads {
		var d appsv1.Deployment
		s.Must(s.Get(name, &d))
		found[name] = d.Spec.Template
	}
	return found
}

// pods are the UIDs of those that are not terminating.
func (s *suite) pods() (uids []types.UID) {
	s.Helper()
	var list corev1.PodList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace)))
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}

// stays watches that nothing is restarted, killed or taken away.
func (s *suite) stays(templates map[string]corev1.PodTemplateSpec, pods []types.UID) {
	s.Helper()
	s.Never(func() error {
		after := s.pods()
		switch lost := slices.DeleteFunc(slices.Clone(pods), func(uid types.UID) bool { return slices.Contains(after, uid) }); {
		case len(lost) > 0:
			return fmt.Errorf("%d pods were killed", len(lost))
		case !equality.Semantic.DeepEqual(templates, s.templates()):
			return fmt.Errorf("restarted: %s", framework.Text(s.templates()))
		case len(s.published("db")) == 0:
			return fmt.Errorf("%s is not ready any more", s.database)
		}
		return nil
	})
}
