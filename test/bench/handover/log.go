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

// logEntry is one line that a contestant wrote.
type logEntry struct {
	Replica string    `json:"replica"`
	Event   string    `json:"event"`
	At      time.Time `json:"at"`
}

// reconcileLog is the file that all of them append to.
type reconcileLog struct{ path string }

// read returns all lines. The last one may be half written.
func (l reconcileLog) read() ([]logEntry, error) {
	file, err := os.Open(l.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var all []logEntry
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one logEntry
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			all = append(all, one)
		}
	}
	return all, lines.Err()
}

// first waits for the first event of any process after a time, and returns whose and when. The file's own
// times count, not how soon they are read.
func (l reconcileLog) first(ctx context.Context, event string, after time.Time, of func(replica string) bool) (logEntry, error) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		all, err := l.read()
		if err != nil {
			return logEntry{}, err
		}
		for _, one := range all {
			if one.Event == event && one.At.After(after) && of(one.Replica) {
				return one, nil
			}
		}
		select {
		case <-ctx.Done():
			return logEntry{}, fmt.Errorf("event %q was not written: %w", event, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
