// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

const (
	// maxOverlaps bounds with how many other objects one is compared.
	maxOverlaps = 3
	// maxRemembered bounds the objects that later ones are compared with: they stay in memory.
	maxRemembered = 20_000
)

// overlapping returns, of the objects of a kind in the order in which they come, what the webhook
// would say of each about those before it. It is nil for kinds that do not act on workloads.
type overlapping func() func(obj any) []string

// overlapsOf finds those that name the same workload, so that thousands of objects are not compared
// with one another.
func overlapsOf[T any, P interface {
	*T
	metav1.Object
}](names func(obj *T) []string, overlaps func(obj *T, others []T) []string) overlapping {
	return func() func(obj any) []string {
		before, remembered := map[string][]P{}, 0
		return func(given any) []string {
			obj, ok := given.(*T)
			if !ok {
				return nil
			}
			var others []T
			met := map[P]bool{}
			for _, name := range names(obj) {
				key := P(obj).GetNamespace() + "/" + name
				for _, other := range before[key] {
					if !met[other] && len(others) < maxOverlaps {
						met[other] = true
						others = append(others, *other)
					}
				}
				if len(before[key]) < maxOverlaps && remembered < maxRemembered {
					remembered++
					before[key] = append(before[key], obj)
				}
			}
			return overlaps(obj, others)
		}
	}
}

// targetsOf names what a RebootPolicy restarts.
func targetsOf(obj *autorebootv1.RebootPolicy) []string {
	names := make([]string, 0, len(obj.Spec.Targets))
	for i := range obj.Spec.Targets {
		t := &obj.Spec.Targets[i]
		name := string(t.Kind) + "/" + t.Name
		if selector, err := json.Marshal(t.Selector); err == nil && t.Selector != nil {
			name += "?" + string(selector)
		}
		names = append(names, name)
	}
	return names
}

// workloadOf names what a ChaosPod acts on; pods chosen by labels take a cluster to know.
func workloadOf(obj *chaosv1.ChaosPod) []string {
	w := obj.Spec.Target.Workload
	if w == nil {
		return nil
	}
	return []string{string(w.Kind) + "/" + w.Name}
}
