// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Reads has how the last read of a running source ended. Err is safe for concurrent use, Record is not.
type Reads struct {
	metrics   *Metrics
	log       logr.Logger
	onFailure func(error)
	seen      retry.Distinct
	failure   atomic.Pointer[error]
}

// NewReads returns Reads of a source that has read nothing. onFailure, which may be nil, is called with each distinct
// error since the last success, and must not block.
func NewReads(metrics *Metrics, log logr.Logger, onFailure func(error)) *Reads {
	return &Reads{metrics: metrics, log: log, onFailure: onFailure}
}

// Record takes the result of a read. An error is counted, and logged with the message where it is new.
func (r *Reads) Record(err error, message string) {
	if err == nil {
		r.seen.Reset()
		r.failure.Store(nil)
		return
	}
	r.failure.Store(&err)
	r.metrics.CountReload(ReloadFailed)
	if !r.seen.Add(err) {
		return
	}
	r.log.Error(err, message)
	if r.onFailure != nil {
		r.onFailure(err)
	}
}

// Err returns why the last read failed; nil where it succeeded, or there was none.
func (r *Reads) Err() error {
	if failure := r.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}
