// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// fault is that label, as a member of a JSON object.
func fault(is string) string { return fmt.Sprintf("%q: %q", FaultLabel, is) }

func imagePull(t *testing.T, c *Cluster, namespace string) {
	pod := runPod(t, c, namespace, fault(FaultImagePull), "", waits("Pending", "ImagePullBackOff", 0))
	if pod.condition("PodScheduled") != "True" || pod.condition("Ready") != "False" {
		t.Errorf("%s", pod)
	}
	label(t, c, namespace, FaultLabel+"-")
	await(t, c, namespace, ready)
}

func unknownFault(t *testing.T, c *Cluster, namespace string) {
	pod := runPod(t, c, namespace, fault("typo"), "", waits("Pending", "CreateContainerConfigError", 0))
	if message := pod.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(message, `"typo"`) {
		t.Errorf("message %q", message)
	}
}

func unreadyFromTheStart(t *testing.T, c *Cluster, namespace string) {
	runPod(t, c, namespace, fault(FaultUnready), "", runsUnready)
	remains(t, c, namespace, 500*time.Millisecond, runsUnready)
	label(t, c, namespace, FaultLabel+"-")
	await(t, c, namespace, ready)
}

func unreadyLater(t *testing.T, c *Cluster, namespace string) {
	before := runPod(t, c, namespace, "", "", ready)
	label(t, c, namespace, FaultLabel+"="+FaultUnready)
	await(t, c, namespace, runsUnready)
	label(t, c, namespace, FaultLabel+"-")
	after := await(t, c, namespace, ready)
	one, other := before.Status.ContainerStatuses[0], after.Status.ContainerStatuses[0]
	if other.RestartCount != 0 || !other.State.Running.StartedAt.Equal(one.State.Running.StartedAt) {
		t.Errorf("the container was restarted: %s", after)
	}
}

func crashLoop(t *testing.T, c *Cluster, namespace string) {
	pod := runPod(t, c, namespace, fault(FaultCrashLoop), "", waits("Running", "CrashLoopBackOff", 3))
	if pod.Status.ContainerStatuses[0].LastState.Terminated == nil || pod.condition("Ready") != "False" {
		t.Errorf("%s", pod)
	}
	restarts := pod.Status.ContainerStatuses[0].RestartCount
	label(t, c, namespace, FaultLabel+"-")
	pod = await(t, c, namespace, ready)
	if n := pod.Status.ContainerStatuses[0].RestartCount; n <= restarts {
		t.Errorf("%d restarts, %d before it was repaired", n, restarts)
	}
	label(t, c, namespace, FaultLabel+"="+FaultCrashLoop) // on a pod that runs already
	await(t, c, namespace, waits("Running", "CrashLoopBackOff", pod.Status.ContainerStatuses[0].RestartCount+1))
}

func crashOnce(t *testing.T, c *Cluster, namespace string) {
	runPod(t, c, namespace, fault(FaultCrashOnce), "", ready)
	again := func(pod podObject) error {
		if pod.Status.ContainerStatuses[0].RestartCount != 1 {
			return fmt.Errorf("not restarted yet: %s", pod)
		}
		return ready(pod)
	}
	pod := await(t, c, namespace, again)
	if end := pod.Status.ContainerStatuses[0].LastState.Terminated; end == nil || end.ExitCode != 1 || end.Reason != "Error" {
		t.Errorf("last state of %s", pod)
	}
	remains(t, c, namespace, 1500*time.Millisecond, again)
}

func faultDuringSlowStart(t *testing.T, c *Cluster, namespace string) {
	createPod(t, c, namespace, "", fmt.Sprintf("%q: %q", ReadyAfterAnnotation, "2s"))
	label(t, c, namespace, FaultLabel+"="+FaultUnready)
	await(t, c, namespace, runsUnready)
	remains(t, c, namespace, 2500*time.Millisecond, runsUnready) // what was to come is off
}

func slowStart(t *testing.T, c *Cluster, namespace string) {
	began := time.Now()
	pod := runPod(t, c, namespace, "", fmt.Sprintf("%q: %q", ReadyAfterAnnotation, "12s"), runsUnready)
	if pod.Status.ContainerStatuses[0].Started {
		t.Errorf("started already: %s", pod)
	}
	pod = await(t, c, namespace, ready)
	if took := time.Since(began); took < 12*time.Second || !pod.Status.ContainerStatuses[0].Started {
		t.Errorf("ready after %v: %s", took, pod)
	}
}

func slowEnd(t *testing.T, c *Cluster, namespace string) {
	runPod(t, c, namespace, "", fmt.Sprintf("%q: %q", StopAfterAnnotation, "12s"), ready)
	began := time.Now()
	kubectl(t, c, "-n", namespace, "delete", "pod", "one", "--wait=false")
	await(t, c, namespace, func(pod podObject) error {
		if pod.Metadata.DeletionTimestamp == nil {
			return errors.New("not being deleted")
		}
		return nil
	})
	kubectl(t, c, "-n", namespace, "wait", "pod/one", "--for=delete", "--timeout=3m")
	if took := time.Since(began); took < 12*time.Second {
		t.Errorf("gone after %v", took)
	}
}

func finalizer(t *testing.T, c *Cluster, namespace string) {
	runPod(t, c, namespace, "", "", ready)
	kubectl(t, c, "-n", namespace, "patch", "pod", "one", "--type=merge", "-p", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	kubectl(t, c, "-n", namespace, "delete", "pod", "one", "--wait=false")
	await(t, c, namespace, func(pod podObject) error {
		if grace := pod.Metadata.DeletionGracePeriodSeconds; grace == nil || *grace != 0 {
			return fmt.Errorf("its containers have not ended: %s", pod)
		}
		return nil
	})
	kubectl(t, c, "-n", namespace, "patch", "pod", "one", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	kubectl(t, c, "-n", namespace, "wait", "pod/one", "--for=delete", "--timeout=60s")
}
