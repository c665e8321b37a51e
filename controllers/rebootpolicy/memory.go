// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// memory is what this process knows of one policy beyond the API server. It could be lost at any time
// without a restart too many or too few. A policy is reconciled once at a time, and no other reconcile uses
// its memory.
type memory struct {
	uid   types.UID
	times *times
	// steady is what EndpointsChange triggers have seen, by trigger and source. It has the bounds of
	// the spec.
	steady map[string]steady
	// disrupted are the workloads of the policy that others disrupted when it was last decided.
	disrupted map[types.UID]bool
	// refused are the workloads that may not be restarted, so that it is not tried all the time. It is
	// tried at once when a user changes the spec or asked, the annotations by which users speak.
	refused map[types.UID]refusal
	asked   []string
	// results are of actions that the next look records.
	results []restart.Result
	// mark is our last write of the status.
	mark controller.LastWrite
}

// refusal is a restart that was forbidden.
type refusal struct {
	until   time.Time
	tries   int
	message string
}

// memories are those of all policies.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

// of returns the memory of a policy, which is new where another one has taken the name.
func (all *memories) of(policy *autorebootv1.RebootPolicy) *memory {
	key := types.NamespacedName{Namespace: policy.Namespace, Name: policy.Name}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all == nil {
		all.all = map[types.NamespacedName]*memory{}
	}
	m := all.all[key]
	if m == nil || m.uid != policy.UID {
		m = &memory{uid: policy.UID, steady: map[string]steady{}, refused: map[types.UID]refusal{}}
		all.all[key] = m
	}
	if m.times == nil || m.times.generation != policy.Generation {
		m.times = timesOf(policy)
		clear(m.steady)
		clear(m.refused)
	}
	if asked := askedOf(policy); !slices.Equal(asked, m.asked) {
		m.asked = asked
		clear(m.refused)
	}
	return m
}

// askedOf are the values of the annotations by which a user asks for something, or is entitled to it.
func askedOf(policy *autorebootv1.RebootPolicy) []string {
	var values []string
	for _, name := range []string{autorebootv1.RestartNowAnnotation, autorebootv1.ResumeAnnotation, autorebootv1.OnInjectedFaultAnnotation, common.ApprovedByAnnotation} {
		values = append(values, policy.Annotations[name])
	}
	return values
}

func (all *memories) drop(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.all, key)
}
