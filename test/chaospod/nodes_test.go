// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// Nodes are not watched: the ChaosPod looks at them again while they hold it. The node takes the pods of this test alone.
func TestAPodOnANodeThatIsEmptiedLivesUntilTheNodeIsBack(t *testing.T) {
	t.Parallel()
	for _, node := range framework.Sample(framework.NewSampler(t), 1, []struct{ name, emptied, back string }{
		{"cordoned", "{spec: {unschedulable: true}}", "{spec: {unschedulable: null}}"},
		{"cluster autoscaler", taint("ToBeDeletedByClusterAutoscaler"), taint("")},
		{"karpenter", taint("karpenter.sh/disrupted"), taint("")},
		{"out of service", taint(corev1.TaintNodeOutOfService), taint("")},
	}) {
		t.Run(node.name, func(t *testing.T) {
			s := newSuite(t)
			own := s.Namespace
			s.Make(fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {own: %[1]s}}, spec: {taints: [%s]}}`, own, ownTaint))
			defer func() {
				_ = s.Client.Delete(context.WithoutCancel(t.Context()), s.Object("{apiVersion: v1, kind: Node, metadata: {name: "+own+"}}"))
			}()
			s.Make(fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
				template: {metadata: {labels: {app: web}}, spec: {terminationGracePeriodSeconds: 1, nodeSelector: {own: %s}, tolerations: [{operator: Exists}],
				containers: [{name: main, image: none}]}}}}`, own))
			s.available("web", 2)
			s.chaos("c", kills+"action: {type: Delete}, "+someday)
			s.Merge("v1", "Node", own, node.emptied)
			s.holds(chaosv1.ReasonNoCandidate, "2 pods on a cordoned or draining node")
			s.Merge("v1", "Node", own, node.back)
			s.dies("web", 1)
		})
	}
}

// ownTaint keeps the pods of other tests off a node.
const ownTaint = "{key: example.org/own, effect: NoSchedule}"

// taint returns a patch of a node by which it has a taint besides its own.
func taint(key string) string {
	if key == "" {
		return "{spec: {taints: [" + ownTaint + "]}}"
	}
	return "{spec: {taints: [" + ownTaint + ", {key: " + key + ", value: \"1\", effect: NoSchedule}]}}"
}
