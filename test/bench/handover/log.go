// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// LogEntry is one line that a process wrote.
type LogEntry struct {
	Replica string    `json:"replica"`
	Event   string    `json:"event"`
	At      time.Time `json:"at"`
}

// ReconcileLog is the file at Path that processes append to: their FAIRLEAD_RECONCILE_LOG.
type ReconcileLog struct{ Path string }

// read returns all lines. The last one may be half written.
func (l ReconcileLog) read() ([]LogEntry, error) {
	file, err := os.Open(l.Path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var all []LogEntry
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one LogEntry
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			all = append(all, one)
		}
	}
	return all, lines.Err()
}

// First waits for the first event of any process after a time, and returns it. The file's own
// times count, not how soon they are read.
func (l ReconcileLog) First(ctx context.Context, event string, after time.Time, of func(replica string) bool) (LogEntry, error) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		all, err := l.read()
		if err != nil {
			return LogEntry{}, err
		}
		for _, one := range all {
			if one.Event == event && one.At.After(after) && of(one.Replica) {
				return one, nil
			}
		}
		select {
		case <-ctx.Done():
			return LogEntry{}, fmt.Errorf("event %q was not written: %w", event, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
