// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// nodeReader is an API server that has one node, and counts its reads.
type nodeReader struct {
	client.Reader
	ready corev1.ConditionStatus
	err   error
	reads int
}

func (n *nodeReader) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	n.reads++
	if node, ok := into.(*corev1.Node); ok {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: n.ready}}
	}
	return n.err
}

func TestWhichPodsAreLost(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	unready := restart.Pod{Name: "a", Node: "n", Created: now.Add(-time.Hour)}
	for name, c := range map[string]struct {
		pod          restart.Pod
		from         nodeReader
		kind         common.WorkloadKind
		withoutNodes bool
		lost         string
		reads        int
	}{
		"its node is not ready":         {pod: unready, from: nodeReader{ready: corev1.ConditionFalse}, lost: "which is not ready", reads: 1},
		"its node says nothing":         {pod: unready, from: nodeReader{ready: corev1.ConditionUnknown}, lost: "which is not ready", reads: 1},
		"its node is gone":              {pod: unready, from: nodeReader{err: apierrors.NewNotFound(corev1.Resource("nodes"), "n")}, lost: "which does not exist", reads: 1},
		"its node is ready":             {pod: unready, from: nodeReader{ready: corev1.ConditionTrue}, reads: 1},
		"its node cannot be read":       {pod: unready, from: nodeReader{err: errors.New("out of reach")}, reads: 1},
		"nodes are not read":            {pod: unready, from: nodeReader{ready: corev1.ConditionFalse}, withoutNodes: true},
		"a pod of a Deployment":         {pod: unready, from: nodeReader{ready: corev1.ConditionFalse}, kind: common.WorkloadDeployment},
		"it is ready":                   {pod: restart.Pod{Node: "n", Ready: true}, from: nodeReader{ready: corev1.ConditionFalse}},
		"it is new":                     {pod: restart.Pod{Node: "n", Created: now}, from: nodeReader{ready: corev1.ConditionFalse}},
		"no node takes it":              {pod: restart.Pod{Created: now.Add(-time.Hour)}, from: nodeReader{ready: corev1.ConditionFalse}},
		"it ends in time":               {pod: restart.Pod{Node: "n", Terminating: true, Ends: now.Add(time.Second)}, from: nodeReader{ready: corev1.ConditionFalse}},
		"it is overdue on a ready node": {pod: restart.Pod{Node: "n", Terminating: true, Ends: now.Add(-2 * time.Minute)}, from: nodeReader{ready: corev1.ConditionTrue}, lost: "where it does not end", reads: 1},
	} {
		if c.kind == "" {
			c.kind = common.WorkloadDaemonSet
		}
		w := &workload{Workload: restart.Workload{Workload: workloads.Workload{Kind: c.kind, UID: "u"}, Pods: []restart.Pod{c.pod}}}
		policy := &autorebootv1.RebootPolicy{}
		policy.Status.InFlight = []autorebootv1.InFlightRestart{{UID: "u"}}
		r := &Reconciler{Live: &c.from, WithoutNodes: c.withoutNodes, nodes: &nodes{}}
		for range 2 { // what was read counts for a while
			w.Pods[0].Lost = ""
			r.findLostPods(t.Context(), &observation{now: now, policy: policy, workloads: []*workload{w}})
		}
		if got := w.Pods[0].Lost; got != c.lost || c.from.reads != c.reads {
			t.Errorf("%s: lost %q after %d reads", name, got, c.from.reads)
		}
	}
}
