// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/fairlead-dev/fairlead/api/common"
)

// RefusedStatus is a status that the API server refuses to store, such as by an admission policy. No condition can tell
// why. The zero value is none.
type RefusedStatus struct{ refusal Refusal }

// refusedStatusError is a refusal that ResultOf tries again after a backoff.
type refusedStatusError struct {
	error
	retryAfter time.Duration
}

func (e *refusedStatusError) Unwrap() error { return e.error }

// Check returns the error of a status write; nil if there is none. The first of several refusals in a row emits an event on the
// object with the API server's message.
func (s *RefusedStatus) Check(
	ctx context.Context, err error, object client.Object, to recorder.EventRecorder, now time.Time, action string,
) error {
	if !IsRefused(err) {
		if err == nil {
			*s = RefusedStatus{}
		}
		return err
	}
	if s.refusal.Until.IsZero() {
		to.Eventf(object, nil, EventType(true), common.ReasonWriteRefused, action, "%s", err.Error())
	}
	s.refusal.Record(now, "")
	ctrllog.FromContext(ctx).Error(err, "The status was refused", "retry", s.refusal.Until)
	return &refusedStatusError{err, s.refusal.Until.Sub(now)}
}
