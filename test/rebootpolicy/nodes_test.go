// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// onNodes has the pods of a DaemonSet on the nodes of a test alone.
func onNodes(label string, maxUnavailable int64) edit {
	return func(o *unstructured.Unstructured) error {
		for _, e := range []edit{
			with(map[string]any{"nodes": label}, "spec", "template", "spec", "nodeSelector"),
			with([]any{map[string]any{"key": "nodes", "operator": "Exists"}}, "spec", "template", "spec", "tolerations"),
			with(int64(1), "spec", "template", "spec", "terminationGracePeriodSeconds"),
			with(maxUnavailable, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"),
		} {
			if err := e(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// nodes creates nodes that take no pods but those of onNodes, and returns their names.
func (s *suite) nodes(label string, n int) []string {
	s.Helper()
	var names []string
	for i := range n {
		name := fmt.Sprintf("%s-%d", label, i)
		node := s.Object(fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {nodes: %s, kubernetes.io/os: linux}}, spec: {taints: [{key: nodes, effect: NoSchedule}]}}", name, label))
		node.SetNamespace("")
		s.Must(s.Client.Create(s.Context(), node))
		s.Cleanup(func() { _ = s.Client.Delete(s.Context(), node) })
		names = append(names, name)
	}
	return names
}

// kill has a node be without a kubelet: it is not ready, and its pod of a workload neither becomes ready nor ends.
func (s *suite) kill(node, app string) (pod string) {
	s.Helper()
	s.Must(s.Client.Patch(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"fault": "dead"}}}`))))
	for _, p := range s.pods(app) {
		if p.Spec.NodeName != node {
			continue
		}
		pod = p.Name
		s.Merge("v1", "Pod", pod, `{metadata: {labels: {fault: unready}, annotations: {kwok.fairlead.dev/stop-after: 1h}}}`)
	}
	s.Must(s.Client.Status().Patch(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.StrategicMergePatchType,
		[]byte(`{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}`))))
	s.Eventually(func() error {
		for _, p := range s.pods(app) {
			if p.Name == pod && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				return fmt.Errorf("pod %s is ready", pod)
			}
		}
		return nil
	})
	return pod
}

// TestADeadNodeHaltsNothing has a DaemonSet that goes on without the pod of a dead node, one that waits for it, and a
// Deployment.
func TestADeadNodeHaltsNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	names := s.nodes(s.Namespace, 3)
	s.workload(daemonSet, "spares", takes("creds"), onNodes(s.Namespace, 2))
	s.workload(daemonSet, "waits", takes("creds"), onNodes(s.Namespace, 1))
	s.run(deployment, "web", takes("creds"))
	s.available(daemonSet, "spares")
	s.available(daemonSet, "waits")
	s.policy("p", "{targets: [{kind: DaemonSet, name: spares}, {kind: DaemonSet, name: waits}, {kind: Deployment, name: web, wave: 1}], "+onConfig+", verification: {soak: 1s, timeout: 15s}}")
	s.watching("p", 3)
	pods := map[string]string{"spares": s.kill(names[0], "spares"), "waits": s.kill(names[0], "waits")}

	s.secret("creds", "password", "second")
	history := s.ended("p", 3)
	for name, result := range map[string]string{"spares": autorebootv1.ResultSucceeded, "waits": autorebootv1.ResultFailed, "web": autorebootv1.ResultSucceeded} {
		own := of(history, name)
		if len(own) != 1 || own[0].Result != result {
			t.Errorf("%s: want %s once: %s", name, result, framework.Text(own))
			continue
		}
		where := "pod " + pods[name] + " on node " + names[0] + ", which is not ready"
		if name != "web" && !strings.Contains(own[0].Message, where) || name == "waits" && own[0].Reason != autorebootv1.ReasonNodeUnreachable {
			t.Errorf("%s: want %q: %s", name, where, framework.Text(own))
		}
	}
	status := s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if st.Halt != nil || meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionStalled) != nil {
			return fmt.Errorf("the policy is halted")
		}
		return nil
	})
	for _, target := range status.Targets {
		if target.Attempts > 0 || target.Pending != nil {
			t.Errorf("%s: %d attempts, pending %s", target.Name, target.Attempts, framework.Text(target.Pending))
		}
	}
}
