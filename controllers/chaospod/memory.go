// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

const (
	// refusedRetry is the wait after an action that was forbidden. It doubles up to refusedLongest.
	refusedRetry   = 10 * time.Second
	refusedLongest = 30 * time.Minute
)

// objectState is what this process knows of one ChaosPod beyond the API server. It could be lost at any time
// without a kill too many.
type objectState struct {
	uid        types.UID
	generation int64
	schedule   *chaos.Schedule
	// refused is an action that is forbidden, so that it is not tried all the time. It is tried at once
	// when a user changes the spec or asked, the annotations by which users speak.
	refused   refusal
	requested []string
	// lastWrite is our last write of the status.
	lastWrite controller.LastWrite
}

// refusal is an action that was forbidden.
type refusal struct {
	until   time.Time
	tries   int
	message string
}

// refuse puts the next try off.
func (m *objectState) refuse(now time.Time, message string) {
	m.refused.until = now.Add(min(refusedRetry<<m.refused.tries, refusedLongest))
	m.refused.tries = min(m.refused.tries+1, 10)
	m.refused.message = message
}

// stateStore are those of all ChaosPods.
type stateStore struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*objectState
}

// get returns the memory of a ChaosPod, which is new where another one has taken the name.
func (all *stateStore) get(object *chaosv1.ChaosPod) *objectState {
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all == nil {
		all.all = map[types.NamespacedName]*objectState{}
	}
	m := all.all[key]
	if m == nil || m.uid != object.UID {
		m = &objectState{uid: object.UID}
		all.all[key] = m
	}
	if m.schedule == nil || m.generation != object.Generation {
		m.generation, m.schedule, m.refused = object.Generation, chaos.ScheduleOf(object), refusal{}
	}
	if asked := requestsOf(object); !slices.Equal(asked, m.requested) {
		m.requested, m.refused = asked, refusal{}
	}
	return m
}

// requestsOf are the values of the annotations by which a user asks for something, or is entitled to it.
func requestsOf(object *chaosv1.ChaosPod) []string {
	var values []string
	for _, name := range []string{chaosv1.RunNowAnnotation, chaosv1.ResumeAnnotation, common.ApprovedByAnnotation} {
		values = append(values, object.Annotations[name])
	}
	return values
}

func (all *stateStore) drop(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.all, key)
}
