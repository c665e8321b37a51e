// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// tally numbers and counts what was checked, and compares objects with those before them.
type tally struct {
	report   func(Object) error
	disabled map[string]bool
	files    atomic.Int64
	counts   Summary
	file     string
	document int
	seen     map[string]string // where each object was given first
	overlaps map[*kind]func(obj any) []string
}

func newTally(report func(Object) error, disabled map[string]bool) *tally {
	return &tally{report: report, disabled: disabled, seen: map[string]string{}, overlaps: map[*kind]func(obj any) []string{}}
}

func (t *tally) summary() Summary {
	t.counts.Files = int(t.files.Load())
	return t.counts
}

func (t *tally) add(file string, documents []document) error {
	if file != t.file {
		t.file, t.document = file, 0
	}
	for _, d := range documents {
		t.document++
		t.counts.Documents++
		t.counts.PassedOver += d.passed
		if d.ignore.whole {
			t.counts.Ignored++
		}
		for i := range d.objects {
			if err := t.object(&d.objects[i], &d.ignore); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tally) object(c *checked, ignore *ignoring) error {
	c.File, c.Document = t.file, t.document
	if c.kind != nil {
		t.counts.Objects++
		if c.restore > 0 {
			t.counts.Restored++
			t.counts.LargestRestore = max(t.counts.LargestRestore, c.restore)
		}
		t.compare(c)
		inOrder(c.Findings)
	}
	for i := range c.Findings {
		Identify(&c.Findings[i])
	}
	c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool { return t.disabled[f.ID] || ignore.hides(&f) })
	for i := range c.Findings {
		if c.Findings[i].Severity == Error {
			t.counts.Errors++
		} else {
			t.counts.Warnings++
		}
	}
	return t.report(c.Object)
}

// compare looks for the object, and for its workload, among those before it.
func (t *tally) compare(c *checked) {
	if c.Name != "" {
		id := c.kind.String() + " " + c.Namespace + "/" + c.Name
		if first, twice := t.seen[id]; twice {
			c.Findings = append(c.Findings, Finding{Severity: Warning, Rule: RuleTwice, Line: c.Line, Column: 1,
				Message: fmt.Sprintf("is given twice, first at %s; where both are applied, the later one wins", first)})
			return
		}
		t.seen[id] = fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	if c.typed == nil || c.kind.overlaps == nil {
		return
	}
	if t.overlaps[c.kind] == nil {
		t.overlaps[c.kind] = c.kind.overlaps()
	}
	for _, text := range t.overlaps[c.kind](c.typed) {
		c.Findings = append(c.Findings, c.placed(Warning, RuleOverlap, text))
	}
}
