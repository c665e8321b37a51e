// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
)

// runNow returns the token of a request for a run; "" where there is none.
func (r *run) runNow() common.Token {
	return requests.New(r.p, chaosv1.RunNowAnnotation, r.status.HandledRunNow)
}

// endHalt ends a halt after a user changed the spec or requested it.
func (r *run) endHalt() {
	h := r.status.Halt
	if h == nil || r.state() != Halted {
		return
	}
	if h.Generation != r.p.Generation || requests.New(r.p, chaosv1.RetryAnnotation, r.status.HandledRetry) != "" {
		r.apply(occurrence{event: HaltEnded})
	}
}

// handleRetry records that the annotation ends no halt to come.
func (r *run) handleRetry() {
	r.status.HandledRetry = requests.Handle(r.p, chaosv1.RetryAnnotation, r.status.HandledRetry)
}

func (r *run) haltRemedy() string {
	return requests.HaltRemedy(r.p, chaosv1.RetryAnnotation, r.status.HandledRetry)
}
