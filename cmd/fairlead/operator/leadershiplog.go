// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Events of a leadershipEntry.
const (
	eventLead   = "lead"
	eventUnlead = "unlead"
	eventBegin  = "begin"
	eventEnd    = "end"
)

// leadershipLog records when this replica leads and when it reconciles, one line of JSON each. With the lines of all
// replicas on one machine, a test proves that no two led at the same time. The time of a begin is taken before it, that
// of an end after it, so that no interval is too short.
type leadershipLog struct {
	replica string
	logger  logr.Logger
	now     func() time.Time

	mu sync.Mutex
	to io.Writer // nil: nothing is written
}

// leadershipEntry is one line of the log.
type leadershipEntry struct {
	Replica   string `json:"replica"`
	Event     string `json:"event"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	At        string `json:"at"` // RFC 3339 with nanoseconds
}

// newLeadershipLog returns the log of a replica. It writes nothing if to is nil.
func newLeadershipLog(replica string, to io.Writer, logger logr.Logger) *leadershipLog {
	return &leadershipLog{replica: replica, to: to, logger: logger, now: time.Now}
}

// write writes a line by one call of Write, so that several replicas can append to one file.
func (l *leadershipLog) write(d leadershipEntry) {
	if l == nil || l.to == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Replica, d.At = l.replica, l.now().Format(time.RFC3339Nano)
	line, err := json.Marshal(d)
	if err == nil {
		_, err = l.to.Write(append(line, '\n'))
	}
	if err != nil {
		l.logger.Error(err, "cannot note what is reconciled: the record has a gap", "event", d.Event)
	}
}

// wrap returns a wrapper for the reconciler of a kind that records its reconciles; nil if nothing is written.
func (l *leadershipLog) wrap(kind string) func(reconcile.Reconciler) reconcile.Reconciler {
	if l == nil || l.to == nil {
		return nil
	}
	return func(inner reconcile.Reconciler) reconcile.Reconciler {
		return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			d := leadershipEntry{Kind: kind, Namespace: request.Namespace, Name: request.Name}
			d.Event = eventBegin
			l.write(d)
			d.Event = eventEnd
			defer l.write(d) // after a panic too
			return inner.Reconcile(ctx, request)
		})
	}
}
