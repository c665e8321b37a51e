// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// The longest that content which is new and good takes to be in all pods, where nothing but what it was before is in the way.
const (
	// settlesWithin is for a restart in flight that stands still, for a refusal and for the quiet period.
	settlesWithin = standstillAfter + refusedInterval + time.Minute
	// restartsWithin is for the rollout of one workload, with its soak.
	restartsWithin = 80 * time.Second
)

// correctionIsNotHeld gives all workloads content that is new and good, and takes everything else out of the way but windows, whose
// hours are not what is measured. Within the time that restarts take, one after the other, all pods have it. Only the limit may hold it.
func correctionIsNotHeld(m *model, _ Observation) error {
	if m.now.Unix()%3 != 0 { // one of three states: each takes minutes of the model
		return nil
	}
	w := m.fork()
	w.clearTheWay()
	w.alwaysOpen = true
	var owed []*simWorkload
	for _, s := range w.workloads {
		if w.evicts {
			s.stuck = 0 // evictions make no other revision
		}
		b := baselineIn(&w.policy.Status, types.UID(s.uid))
		if b != nil && strings.HasPrefix(b.Fingerprint, strconv.Itoa(w.keys)+"/") { // else it is new, or other keys count since
			owed = append(owed, s)
		}
	}
	w.advance(10 * time.Second) // what stands still has its pods, which lack what changes now
	w.changes(&w.sources[0], w.sources[0].change+1)
	content := w.sources[0].content
	within := settlesWithin + restartsWithin*time.Duration(len(w.workloads))
	for began := w.now; w.now.Before(began.Add(within)); w.advance(4 * time.Second) {
		if h := w.policy.Status.Halt; h != nil && h.Reason == autorebootv1.ReasonLimitReached {
			return nil
		}
		w.approve()
		w.reconcile("")
		if w.failure != nil {
			return w.failure
		}
		if !slices.ContainsFunc(owed, func(s *simWorkload) bool { return lacks(s, content) }) {
			return nil
		}
	}
	for _, s := range owed {
		if lacks(s, content) {
			return fmt.Errorf("after %s the pods of %s lack content %d: %+v\n%s", within, s.name, content, s.pods, w.bytes(w.policy.Status))
		}
	}
	return nil
}

func lacks(s *simWorkload, content int) bool {
	return slices.ContainsFunc(s.pods, func(p simPod) bool { return p.reads[0] != content })
}
