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

// Calls are those of a client to the API server, by verb and resource, from the audit log.
type Calls map[string]int

// Logged returns how many bytes an audit log has.
func Logged(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ReadCalls returns the calls that an audit log has between two lengths.
func ReadCalls(path string, from, to int64) (Calls, error) {
	log, err := os.Open(path) //nolint:gosec // the harness has it written
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	return callsOf(io.NewSectionReader(log, from, to-from))
}

func callsOf(log io.Reader) (Calls, error) {
	c := Calls{}
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

// Split returns how many calls tell of what was done, how many only read, and how many are others.
func (c Calls) Split() (events, reads, writes int) {
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

func (c Calls) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		list = append(list, fmt.Sprintf("%s: %d", name, c[name]))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
