// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// calls are the operator's to the API server, by verb and resource, from the audit log.
type calls map[string]int

// logged is how long the audit log is.
func (r *run) logged() (int64, error) {
	info, err := os.Stat(r.stage.AuditLog())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// called are the calls that the audit log has between two lengths.
func (r *run) called(from, to int64) (calls, error) {
	log, err := os.Open(r.stage.AuditLog())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	return callsOf(io.NewSectionReader(log, from, to-from))
}

func callsOf(log io.Reader) (calls, error) {
	c := calls{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb           string
			ObjectRef      struct{ Resource, Subresource string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("the audit log: %w", err)
		}
		name := event.Verb + " " + event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			name += "/" + event.ObjectRef.Subresource
		}
		if code := event.ResponseStatus.Code; code >= 400 {
			name += fmt.Sprintf(" (%d)", code)
		}
		c[name]++
	}
	return c, lines.Err()
}

// events are the calls that tell of what was done, reads those that only read, and writes all others.
func (c calls) split() (events, reads, writes int) {
	for name, n := range c {
		verb, resource, _ := strings.Cut(name, " ")
		switch {
		case strings.HasPrefix(resource, "events"):
			events += n
		case verb == "get" || verb == "list" || verb == "watch":
			reads += n
		default:
			writes += n
		}
	}
	return events, reads, writes
}

func (c calls) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		list = append(list, fmt.Sprintf("%s: %d", name, c[name]))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
