// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"strconv"
	"strings"
)

// Samples are the lines of a page of metrics: value by name and labels, as written.
type Samples map[string]float64

// ReadSamples reads a page of metrics. Lines that are none are left out.
func ReadSamples(page string) Samples {
	m := Samples{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			m[line[:at]] = value
		}
	}
	return m
}

// Rows are a family's samples that have all of the labels.
func (m Samples) Rows(family string, labels ...string) []string {
	var rows []string
next:
	for name := range m {
		if name != family && !strings.HasPrefix(name, family+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(name, label) {
				continue next
			}
		}
		rows = append(rows, name)
	}
	return rows
}

// Sum adds up a family's samples that have all of the labels.
func (m Samples) Sum(family string, labels ...string) float64 {
	var total float64
	for _, name := range m.Rows(family, labels...) {
		total += m[name]
	}
	return total
}
