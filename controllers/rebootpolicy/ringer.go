// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/internal/bell"
)

// quiet is the least time between two looks at a policy because of what goes on in its namespace: a
// rollout of a thousand pods is thousands of events.
const quiet = time.Second

// ringer has policies reconciled because of something beside them.
type ringer struct {
	bell.Bell
	now func() time.Time

	mu sync.Mutex
	// stirred is when each policy was last stirred.
	stirred map[types.NamespacedName]time.Time
}

func newRinger(now func() time.Time) *ringer {
	return &ringer{now: now, stirred: map[types.NamespacedName]time.Time{}}
}

// stir has a policy reconciled because a workload or a pod has moved: at once after some quiet, and
// once at the end of each quiet time while they come in masses.
func (r *ringer) stir(key types.NamespacedName) {
	r.mu.Lock()
	now := r.now()
	wait := r.stirred[key].Add(quiet).Sub(now)
	if wait <= 0 {
		r.stirred[key] = now
	}
	r.mu.Unlock()
	r.RingIn(key, min(wait, quiet))
}

// forget drops a policy.
func (r *ringer) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stirred, key)
}
