// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderperiods

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// What replicas write down.
const (
	Lead   = "lead"
	Unlead = "unlead"
	Begin  = "begin"
	End    = "end"
)

// maxLine bounds a line: it holds no more than four names.
const maxLine = 16 << 10

// Event is one line.
type Event struct {
	Replica   string    `json:"replica"`
	Event     string    `json:"event"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	At        time.Time `json:"at"`
}

// object returns the object of an event; empty for leading.
func (e Event) object() string {
	if e.Kind == "" {
		return ""
	}
	return e.Kind + " " + e.Namespace + "/" + e.Name
}

// Read reads lines of JSON. A line that cannot be read is an error: the proof would have a gap. What
// follows the last end of a line is left out, since its writer is not done.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	lines.Split(whole)
	for n := 1; lines.Scan(); n++ {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d of the record: %w", n, err)
		}
		switch e.Event {
		case Lead, Unlead, Begin, End:
		default:
			return nil, fmt.Errorf("line %d of the record: event %q is none of lead, unlead, begin, end", n, e.Event)
		}
		if e.Replica == "" || e.At.IsZero() {
			return nil, fmt.Errorf("line %d of the record: it says not who, or not when", n)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	return events, nil
}

// whole splits off lines that have ended.
func whole(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}
