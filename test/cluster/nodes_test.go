// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestNodes runs workloads on one cluster with nodes, all at the same time.
func TestNodes(t *testing.T) {
	const podCIDR = "10.200.0.0/16"
	began := time.Now()
	c := start(t, Options{Nodes: 3, PodCIDR: podCIDR, SchedulerFlags: []string{"--v=1"}})
	t.Logf("ready after %v", time.Since(began))
	if args := c.Component(Scheduler).args; args[len(args)-1] != "--v=1" {
		t.Errorf("arguments of the scheduler: %v", args)
	}
	t.Run("workloads", func(t *testing.T) {
		// They wait for most of their time, so more of them at once than the machine has CPUs.
		var all sync.WaitGroup
		defer all.Wait()
		for name, test := range map[string]func(*testing.T, *Cluster, string){
			"Deployment rolls":                  deploymentRolls,
			"StatefulSet rolls":                 statefulSetRolls,
			"DaemonSet rolls":                   daemonSetRolls,
			"a faulty template halts a rollout": faultyTemplateHaltsRollout,
			"eviction respects the budget":      evictionRespectsBudget,
			"Job completes":                     jobCompletes,
			"all containers and gates":          allContainersAndGates,
			"image-pull":                        imagePull,
			"unknown fault":                     unknownFault,
			"unready from the start":            unreadyFromTheStart,
			"unready later":                     unreadyLater,
			"crash-loop":                        crashLoop,
			"crash-once":                        crashOnce,
			"unready during a slow start":       faultDuringSlowStart,
			"slow start":                        slowStart,
			"slow end":                          slowEnd,
			"finalizer":                         finalizer,
		} {
			all.Go(func() { t.Run(name, func(t *testing.T) { test(t, c, newNamespace(t, c)) }) })
		}
	})
	t.Run("nodes and IPs", func(t *testing.T) {
		out := kubectl(t, c, "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
		if out != "node-1 node-2 node-3" {
			t.Errorf("nodes %s", out)
		}
		namespace := newNamespace(t, c)
		pod := runPod(t, c, namespace, "", "", ready)
		ip, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil || !netip.MustParsePrefix(podCIDR).Contains(ip) {
			t.Errorf("the pod's IP is %q, outside %s", pod.Status.PodIP, podCIDR)
		}
	})
	t.Run("a crash of KWOK is made good", func(t *testing.T) {
		kwok := c.Component(Kwok)
		kwok.Kill()
		namespace := newNamespace(t, c)
		createPod(t, c, namespace, "", "")
		if err := kwok.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, c, namespace, ready)
	})
	t.Run("stop leaves nothing", func(t *testing.T) {
		pids := pidsOf(c)
		if len(pids) != 6 {
			t.Fatalf("processes %v", pids)
		}
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := nothingLeft(c.Folder(), pids); err != nil {
			t.Error(err)
		}
	})
}

func TestNodesThatCannotBeAreRefused(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{Nodes: -1}, "0 to 2000"},
		{Options{Nodes: 2001}, "0 to 2000"},
		{Options{Nodes: 1, WithoutControllerManager: true}, "taint"},
		{Options{PodCIDR: "10.0.0.0"}, "such as 10.244.0.0/16"},
		{Options{PodCIDR: "10.0.0.1/16"}, "such as 10.244.0.0/16"},
	} {
		c, err := Start(t.Context(), test.options)
		if err == nil {
			t.Fatal("started", c.Stop())
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("no %q in: %v", test.want, err)
		}
	}
}

func deploymentRolls(t *testing.T, c *Cluster, namespace string) {
	rolls(t, c, namespace, "Deployment", `"replicas": 5`, 5)
}

func statefulSetRolls(t *testing.T, c *Cluster, namespace string) {
	rolls(t, c, namespace, "StatefulSet", `"replicas": 3`, 3)
}

func daemonSetRolls(t *testing.T, c *Cluster, namespace string) {
	after := rolls(t, c, namespace, "DaemonSet", `"minReadySeconds": 0`, 3)
	var nodes []string
	for _, pod := range after {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(nodes)
	if strings.Join(nodes, " ") != "node-1 node-2 node-3" {
		t.Errorf("pods are on %v", nodes)
	}
}

// rolls makes a workload, restarts it, and returns its pods. None of them may have been there before.
func rolls(t *testing.T, c *Cluster, namespace, kind, size string, want int) []podObject {
	t.Helper()
	name := strings.ToLower(kind) + "/web"
	apply(t, c, workload(namespace, kind, size))
	kubectl(t, c, "-n", namespace, "rollout", "status", name, "--timeout=60s")
	before := podsIn(t, c, namespace)
	if len(before) != want {
		t.Fatalf("%d pods, want %d", len(before), want)
	}
	began := time.Now()
	kubectl(t, c, "-n", namespace, "rollout", "restart", name)
	kubectl(t, c, "-n", namespace, "rollout", "status", name, "--timeout=60s")
	t.Logf("%s with %d pods rolled in %v", name, want, time.Since(began).Round(10*time.Millisecond))
	var after []podObject
	eventuallyEvery(t, lookEvery, patience, func() error { // the last of the old may still be going
		if after = podsIn(t, c, namespace); len(after) != want {
			return fmt.Errorf("%d pods, want %d", len(after), want)
		}
		return nil
	})
	for _, pod := range after {
		if slices.ContainsFunc(before, func(old podObject) bool { return old.Metadata.UID == pod.Metadata.UID }) {
			t.Errorf("pod %s has not been replaced", pod.Metadata.Name)
		}
		if err := ready(pod); err != nil {
			t.Error(err)
		}
	}
	return after
}

func evictionRespectsBudget(t *testing.T, c *Cluster, namespace string) {
	apply(t, c, workload(namespace, "Deployment", `"replicas": 3`))
	apply(t, c, inNamespace(`{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
		"spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}}`, namespace))
	kubectl(t, c, "-n", namespace, "wait", "pdb/web", "--for=jsonpath={.status.currentHealthy}=3", "--timeout=60s")
	victim := podsIn(t, c, namespace)[0].Metadata.Name
	evict := func() error {
		body := fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q}}`, victim)
		var problems strings.Builder
		err := c.KubectlIO(t.Context(), strings.NewReader(body), nil, &problems,
			"create", "--raw", "/api/v1/namespaces/"+namespace+"/pods/"+victim+"/eviction", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w: %s", err, problems.String())
		}
		return nil
	}
	if err := evict(); err == nil || !strings.Contains(err.Error(), "(TooManyRequests)") {
		t.Fatalf("want a refusal for the budget's sake, got %v", err)
	}
	kubectl(t, c, "-n", namespace, "patch", "pdb", "web", "--type=merge", "-p", `{"spec": {"minAvailable": 2}}`)
	eventually(t, patience, evict)
	kubectl(t, c, "-n", namespace, "wait", "pod/"+victim, "--for=delete", "--timeout=60s")
	kubectl(t, c, "-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
}

func faultyTemplateHaltsRollout(t *testing.T, c *Cluster, namespace string) {
	apply(t, c, workload(namespace, "Deployment", `"replicas": 2`))
	kubectl(t, c, "-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
	kubectl(t, c, "-n", namespace, "patch", "deployment", "web", "--type=merge", "-p",
		fmt.Sprintf(`{"spec": {"template": {"metadata": {"labels": {%s}}}}}`, fault(FaultUnready)))
	count := func() (good, bad int) {
		for _, pod := range podsIn(t, c, namespace) {
			if ready(pod) == nil {
				good++
			}
			if runsUnready(pod) == nil {
				bad++
			}
		}
		return good, bad
	}
	eventuallyEvery(t, lookEvery, patience, func() error {
		if good, bad := count(); good != 2 || bad != 1 {
			return fmt.Errorf("%d ready, %d not", good, bad)
		}
		return nil
	})
	kubectl(t, c, "-n", namespace, "rollout", "undo", "deployment/web")
	kubectl(t, c, "-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
	if good, _ := count(); good != 2 {
		t.Errorf("%d ready", good)
	}
}

func jobCompletes(t *testing.T, c *Cluster, namespace string) {
	apply(t, c, inNamespace(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {
		"completions": 2, "template": {"spec": {"restartPolicy": "Never",
			"containers": [{"name": "c", "image": "none.invalid/none"}]}}}}`, namespace))
	kubectl(t, c, "-n", namespace, "wait", "job/once", "--for=condition=Complete", "--timeout=60s")
	for _, pod := range podsIn(t, c, namespace) {
		if pod.Status.Phase != "Succeeded" {
			t.Errorf("%s", pod)
		}
	}
}

func allContainersAndGates(t *testing.T, c *Cluster, namespace string) {
	apply(t, c, inNamespace(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {
		"readinessGates": [{"conditionType": "example.com/gate"}],
		"initContainers": [{"name": "first", "image": "none.invalid/none"},
			{"name": "side", "image": "none.invalid/none", "restartPolicy": "Always"}],
		"containers": [{"name": "a", "image": "none.invalid/none"}, {"name": "b", "image": "none.invalid/none"}]}}`, namespace))
	pod := await(t, c, namespace, ready)
	status := pod.Status
	if status.PodIP == "" || status.HostIP == "" || status.StartTime.IsZero() || pod.condition("example.com/gate") != "True" {
		t.Errorf("%s", pod)
	}
	if len(status.ContainerStatuses) != 2 || len(status.InitContainerStatuses) != 2 {
		t.Fatalf("%s", pod)
	}
	first, side := status.InitContainerStatuses[0], status.InitContainerStatuses[1]
	if first.State.Terminated == nil || first.State.Terminated.Reason != "Completed" || side.State.Running == nil || !side.Started {
		t.Errorf("%s", pod)
	}
	for _, container := range status.ContainerStatuses {
		if !container.Ready || !container.Started || container.State.Running == nil || container.State.Running.StartedAt.IsZero() {
			t.Errorf("container %s of %s", container.Name, pod)
		}
	}
}
