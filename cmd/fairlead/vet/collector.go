// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"slices"
	"sync/atomic"

	shown "github.com/fairlead-dev/fairlead/internal/text"
)

// collector numbers and counts documents, and compares objects with earlier ones.
type collector struct {
	report     func(Object) error
	disabled   map[string]bool
	files      atomic.Int64
	counts     Summary
	file       string
	document   int
	firstGiven map[string]string // file and line of each object
	overlaps   map[*kind]func(obj any) []string
}

func newCollector(report func(Object) error, disabled map[string]bool) *collector {
	return &collector{report: report, disabled: disabled, firstGiven: map[string]string{}, overlaps: map[*kind]func(obj any) []string{}}
}

func (t *collector) summary() Summary {
	t.counts.Files = int(t.files.Load())
	return t.counts
}

func (t *collector) add(file string, documents []document) error {
	if file != t.file {
		t.file, t.document = file, 0
	}
	for _, d := range documents {
		t.document++
		t.counts.Documents++
		t.counts.PassedOver += d.otherKinds
		if d.ignore.all {
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

func (t *collector) object(c *result, ignore *ignoreComments) error {
	c.File, c.Document = t.file, t.document
	if c.configuration {
		t.counts.Objects++
	}
	if c.kind != nil {
		t.counts.Objects++
		t.compare(c)
		sortByPosition(c.Findings)
	}
	for i := range c.Findings {
		Identify(&c.Findings[i])
		c.Findings[i].Message = shown.WithoutCredentials(c.Findings[i].Message)
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

// compare compares an object, and its workload, with earlier ones.
func (t *collector) compare(c *result) {
	if c.Name != "" {
		id := c.kind.String() + " " + c.Namespace + "/" + c.Name
		if first, twice := t.firstGiven[id]; twice {
			c.Findings = append(c.Findings, Finding{Severity: Warning, Rule: RuleTwice, Line: c.Line, Column: 1,
				Message: fmt.Sprintf("is given twice, first at %s; where both are applied, the later one wins", first)})
			return
		}
		t.firstGiven[id] = fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	if c.typed == nil || c.kind.overlaps == nil {
		return
	}
	if t.overlaps[c.kind] == nil {
		t.overlaps[c.kind] = c.kind.overlaps()
	}
	for _, overlap := range t.overlaps[c.kind](c.typed) {
		c.Findings = append(c.Findings, c.newFinding(Warning, RuleOverlap, overlap))
	}
}
