// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// lookEvery is the pause between two looks at a pod. Many tests look at the same time.
const lookEvery = 100 * time.Millisecond

// podObject holds the fields of a pod that the tests read.
type podObject struct {
	Metadata struct {
		Name, UID                  string
		DeletionTimestamp          *time.Time
		DeletionGracePeriodSeconds *int
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase, PodIP, HostIP                     string
		StartTime                                time.Time
		Conditions                               []struct{ Type, Status string }
		ContainerStatuses, InitContainerStatuses []containerStatus
	}
}

type containerStatus struct {
	Name             string
	Ready, Started   bool
	RestartCount     int
	State, LastState struct {
		Waiting    *struct{ Reason, Message string }
		Running    *struct{ StartedAt time.Time }
		Terminated *struct {
			ExitCode int
			Reason   string
		}
	}
}

func (p podObject) String() string {
	status, err := json.Marshal(p.Status)
	if err != nil {
		return err.Error()
	}
	return "pod " + p.Metadata.Name + ": " + string(status)
}

func (p podObject) condition(name string) string {
	for _, condition := range p.Status.Conditions {
		if condition.Type == name {
			return condition.Status
		}
	}
	return ""
}

// ready is nil for a pod that is ready in every respect.
func ready(p podObject) error {
	if p.Status.Phase != "Running" || p.condition("Ready") != "True" || p.condition("ContainersReady") != "True" {
		return fmt.Errorf("not ready: %s", p)
	}
	for _, container := range p.Status.ContainerStatuses {
		if !container.Ready || container.State.Running == nil {
			return fmt.Errorf("container %s not ready: %s", container.Name, p)
		}
	}
	return nil
}

// runsUnready is nil for a pod whose containers run and which is not ready.
func runsUnready(p podObject) error {
	if p.Status.Phase != "Running" || p.condition("Ready") != "False" || p.condition("ContainersReady") != "False" {
		return fmt.Errorf("not running unready: %s", p)
	}
	for _, container := range p.Status.ContainerStatuses {
		if container.Ready || container.State.Running == nil {
			return fmt.Errorf("container %s: %s", container.Name, p)
		}
	}
	return nil
}

// waits wants a pod in that phase whose container waits for that reason, after so many restarts or
// more: a slow look misses some.
func waits(phase, reason string, restarts int) func(podObject) error {
	return func(p podObject) error {
		if p.Status.Phase == phase && len(p.Status.ContainerStatuses) == 1 {
			container := p.Status.ContainerStatuses[0]
			if container.State.Waiting != nil && container.State.Waiting.Reason == reason &&
				container.RestartCount >= restarts && !container.Ready {
				return nil
			}
		}
		return fmt.Errorf("not waiting for %s, restarted %d times: %s", reason, restarts, p)
	}
}

// newNamespace makes a namespace in which pods can be created at once.
func newNamespace(t *testing.T, c *Cluster) string {
	t.Helper()
	name := "test-" + strings.ToLower(rand.Text()[:10])
	kubectl(t, c, "create", "namespace", name)
	kubectl(t, c, "-n", name, "wait", "serviceaccount/default", "--for=create", "--timeout=60s")
	return name
}

// inNamespace puts an object into a namespace.
func inNamespace(manifest, namespace string) string {
	return strings.Replace(manifest, `"metadata": {`, fmt.Sprintf(`"metadata": {"namespace": %q, `, namespace), 1)
}

// workload is a Deployment, StatefulSet or DaemonSet called web. Size is a member of its spec.
func workload(namespace, kind, size string) string {
	return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": %q, "metadata": {"namespace": %q, "name": "web"}, "spec": {%s,
		"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
			"spec": {"containers": [{"name": "c", "image": "none.invalid/none"}]}}}}`, kind, namespace, size)
}

// createPod creates the pod "one" with those labels and annotations, members of a JSON object.
func createPod(t *testing.T, c *Cluster, namespace, labels, annotations string) {
	t.Helper()
	apply(t, c, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"namespace": %q, "name": "one", "labels": {%s}, "annotations": {%s}},
		"spec": {"containers": [{"name": "c", "image": "none.invalid/none"}]}}`, namespace, labels, annotations))
}

// runPod is createPod, and waits until the pod is as wanted.
func runPod(t *testing.T, c *Cluster, namespace, labels, annotations string, want func(podObject) error) podObject {
	t.Helper()
	createPod(t, c, namespace, labels, annotations)
	return await(t, c, namespace, want)
}

func label(t *testing.T, c *Cluster, namespace, change string) {
	t.Helper()
	kubectl(t, c, "-n", namespace, "label", "pod", "one", change)
}

// await returns the pod "one" once it is as wanted.
func await(t *testing.T, c *Cluster, namespace string, want func(podObject) error) podObject {
	t.Helper()
	var pod podObject
	eventuallyEvery(t, lookEvery, patience, func() error {
		pod = theOne(t, c, namespace)
		return want(pod)
	})
	return pod
}

// remains wants the pod "one" to stay as it is for a while.
func remains(t *testing.T, c *Cluster, namespace string, while time.Duration, as func(podObject) error) {
	t.Helper()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for range while / lookEvery {
		<-tick.C
		if err := as(theOne(t, c, namespace)); err != nil {
			t.Fatal(err)
		}
	}
}

func theOne(t *testing.T, c *Cluster, namespace string) podObject {
	t.Helper()
	pods := podsIn(t, c, namespace)
	if len(pods) != 1 {
		t.Fatalf("%d pods in %s", len(pods), namespace)
	}
	return pods[0]
}

// podsIn asks the API server itself: a kubectl for each question would be most of the test.
func podsIn(t *testing.T, c *Cluster, namespace string) []podObject {
	t.Helper()
	admin := c.Admin()
	body, err := fetch(t.Context(), c.pki.ca, pair{cert: admin.Cert, key: admin.Key},
		c.URL()+"/api/v1/namespaces/"+namespace+"/pods", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []podObject }
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}
