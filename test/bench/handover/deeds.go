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

// deed is one line that a contestant wrote.
type deed struct {
	Replica string    `json:"replica"`
	Event   string    `json:"event"`
	At      time.Time `json:"at"`
}

// deeds is the file that all of them append to.
type deeds struct{ path string }

// read returns all lines. The last one may be half written.
func (d deeds) read() ([]deed, error) {
	file, err := os.Open(d.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var all []deed
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one deed
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			all = append(all, one)
		}
	}
	return all, lines.Err()
}

// first waits for the first event of any process after a time, and returns whose and when. The file's own
// times count, not how soon they are read.
func (d deeds) first(ctx context.Context, event string, after time.Time, of func(replica string) bool) (deed, error) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		all, err := d.read()
		if err != nil {
			return deed{}, err
		}
		for _, one := range all {
			if one.Event == event && one.At.After(after) && of(one.Replica) {
				return one, nil
			}
		}
		select {
		case <-ctx.Done():
			return deed{}, fmt.Errorf("event %q was not written: %w", event, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
