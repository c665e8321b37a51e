// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
)

// ignoreInitialRequest records the annotation restart-now of a policy without a status of its own: it may have been handled
// before.
func (r *run) ignoreInitialRequest() {
	token := r.restartNow()
	if token == "" || r.status.ObservedGeneration > 0 {
		return
	}
	r.handleRestartNow()
	r.ignoresRestartNow = true
	r.addMessage(Message{Reason: common.EventRequestIgnored, Text: requests.Ignored(autorebootv1.RestartNowAnnotation, token)})
}

// restartNow returns the token of a request for a restart that no target has had; "" where there is none.
func (r *run) restartNow() common.Token {
	return requests.New(r.policy, autorebootv1.RestartNowAnnotation, r.status.HandledRestartNow)
}

func (r *run) handleRestartNow() {
	r.status.HandledRestartNow = requests.Handle(r.policy, autorebootv1.RestartNowAnnotation, r.status.HandledRestartNow)
}

// handleRetry records that the annotation retry ends no halt to come.
func (r *run) handleRetry() {
	r.status.HandledRetry = requests.Handle(r.policy, autorebootv1.RetryAnnotation, r.status.HandledRetry)
}
