// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"strconv"
	"strings"
)

// samples are the lines of a page of metrics: value by name and labels, as written.
type samples map[string]float64

// samples reads the leader's metrics.
func (s *scene) samples() samples {
	s.Helper()
	m := samples{}
	for line := range strings.Lines(s.figures()) {
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

// sum adds up a family's samples that have all of the labels.
func (m samples) sum(family string, labels ...string) float64 {
	var total float64
next:
	for name, value := range m {
		if name != family && !strings.HasPrefix(name, family+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(name, label) {
				continue next
			}
		}
		total += value
	}
	return total
}

// rows are a family's samples that have a label.
func (m samples) rows(family, label string) []string {
	var rows []string
	for name := range m {
		if (name == family || strings.HasPrefix(name, family+"{")) && strings.Contains(name, label) {
			rows = append(rows, name)
		}
	}
	return rows
}
