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

// objectState is what this process knows of one policy beyond the API server. It could be lost at any time
// without a restart too many or too few. A policy is reconciled once at a time, and no other reconcile uses
// its memory.
type objectState struct {
	uid      types.UID
	calendar *calendarSpec
	// stable is what EndpointsChange triggers have seen, by trigger and source. It has the bounds of
	// the spec.
	stable map[string]stableFingerprint
	// disrupted are the workloads of the policy that others disrupted when it was last decided.
	disrupted map[types.UID]bool
	// refused are the workloads that may not be restarted, so that it is not tried all the time. It is
	// tried at once when a user changes the spec or asked, the annotations by which users speak.
	refused   map[types.UID]refusal
	requested []string
	// unrecorded are of actions that the next look records.
	unrecorded []restart.Result
	// lastWrite is our last write of the status.
	lastWrite controller.LastWrite
}

// refusal is a restart that was forbidden.
type refusal struct {
	until   time.Time
	tries   int
	message string
}

// stateStore are those of all policies.
type stateStore struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*objectState
}

// get returns the memory of a policy, which is new where another one has taken the name.
func (all *stateStore) get(policy *autorebootv1.RebootPolicy) *objectState {
	key := types.NamespacedName{Namespace: policy.Namespace, Name: policy.Name}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all == nil {
		all.all = map[types.NamespacedName]*objectState{}
	}
	m := all.all[key]
	if m == nil || m.uid != policy.UID {
		m = &objectState{uid: policy.UID, stable: map[string]stableFingerprint{}, refused: map[types.UID]refusal{}}
		all.all[key] = m
	}
	if m.calendar == nil || m.calendar.generation != policy.Generation {
		m.calendar = parseCalendar(policy)
		clear(m.stable)
		clear(m.refused)
	}
	if asked := requestsOf(policy); !slices.Equal(asked, m.requested) {
		m.requested = asked
		clear(m.refused)
	}
	return m
}

// requestsOf are the values of the annotations by which a user asks for something, or is entitled to it.
func requestsOf(policy *autorebootv1.RebootPolicy) []string {
	var values []string
	for _, name := range []string{autorebootv1.RestartNowAnnotation, autorebootv1.ResumeAnnotation, autorebootv1.OnInjectedFaultAnnotation, common.ApprovedByAnnotation} {
		values = append(values, policy.Annotations[name])
	}
	return values
}

func (all *stateStore) drop(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.all, key)
}
