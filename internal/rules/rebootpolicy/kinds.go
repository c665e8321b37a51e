// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// appsKinds are the kinds of the group apps that can be restarted.
var appsKinds = []common.WorkloadKind{common.WorkloadDeployment, common.WorkloadStatefulSet, common.WorkloadDaemonSet}

// KindsOf returns the kinds of the workloads of a target, as a status has them. Without a kind, they are all kinds of
// its group that can be restarted.
func KindsOf(t *autorebootv1.Target) []common.WorkloadKind {
	switch {
	case t.Kind != "":
		return []common.WorkloadKind{common.KindOfGroup(t.Group, t.Kind)}
	case t.Group == common.RolloutsGroup:
		return []common.WorkloadKind{common.WorkloadRollout}
	}
	return appsKinds
}

// OptionalKinds returns the kinds of the targets of a spec that a cluster may lack, each once.
func OptionalKinds(spec *autorebootv1.RebootPolicySpec) []common.WorkloadKind {
	var all []common.WorkloadKind
	for i := range rules.Within(spec.Targets) {
		for _, kind := range KindsOf(&spec.Targets[i]) {
			if kind.Group() != common.AppsGroup && !slices.Contains(all, kind) {
				all = append(all, kind)
			}
		}
	}
	return all
}
