// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// entry is a row as the record has it. What is 0 or empty in a sound row is left out.
type entry struct {
	Scenario string  `json:"scenario"`
	Sent     int     `json:"sent"`
	Failed   int     `json:"failed"`
	P50      float64 `json:"p50ms"`
	P99      float64 `json:"p99ms"`
	// InTheDead and SentToTheDead are those of Failed that were lost with a replica.
	InTheDead     int `json:"inTheDead,omitempty"`
	SentToTheDead int `json:"sentToTheDead,omitempty"`
	// Unavailable are requests that the API server itself could not take.
	Unavailable int      `json:"unavailable,omitempty"`
	Faults      []string `json:"faults,omitempty"`
}

// Record is a file with the figures of rows, as JSON.
type Record struct {
	path    string
	entries []entry
}

// OpenRecord begins a record, which replaces the file with its first row. Where keep is true, the rows
// that the file has stay, until one of the same scenario replaces them.
func OpenRecord(path string, keep bool) (*Record, error) {
	r := &Record{path: path}
	if !keep {
		return r, nil
	}
	raw, err := os.ReadFile(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rows of earlier runs: %w", err)
	}
	if err := json.Unmarshal(raw, &r.entries); err != nil {
		return nil, fmt.Errorf("read the rows of earlier runs: %s: %w; remove it, or run every scenario", path, err)
	}
	// Of scenarios that there are no more, it could not be said what they were.
	r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return !slices.Contains(Scenarios(), e.Scenario) })
	return r, nil
}

// Add writes the file with one more row. Rows are in the order of Scenarios.
func (r *Record) Add(row Row) error {
	r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return e.Scenario == row.Scenario })
	r.entries = append(r.entries, entry{
		Scenario: row.Scenario, Sent: row.Sent, Failed: row.Failed, P50: milliseconds(row.P50), P99: milliseconds(row.P99),
		InTheDead: row.InTheDead, SentToTheDead: row.SentToTheDead, Unavailable: row.Unavailable, Faults: row.Faults,
	})
	order := Scenarios()
	slices.SortStableFunc(r.entries, func(a, b entry) int {
		return slices.Index(order, a.Scenario) - slices.Index(order, b.Scenario)
	})
	raw, err := json.MarshalIndent(r.entries, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", r.path, err)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o750); err != nil {
		return err
	}
	// A reader meanwhile must not find half of it.
	next := r.path + ".next"
	if err := os.WriteFile(next, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.path)
}
