// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// watchSet is what one ChaosPod wants to hear of in its namespace.
type watchSet struct {
	workloads map[workloadName]bool
	// owners are the workloads and ReplicaSets whose pods the ChaosPod has looked at.
	owners map[types.UID]bool
	// selector is that of the target; nil where it has none.
	selector labels.Selector
	// pod is the canary's name; empty where there is none.
	pod string
}

// matchesPod says whether a pod matters.
func (i *watchSet) matchesPod(p *corev1.Pod) bool {
	return i.pod != "" && p.Name == i.pod || i.owners[workloads.ControllerOf(p)] ||
		i.selector != nil && i.selector.Matches(labels.Set(p.Labels))
}
