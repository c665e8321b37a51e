// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/test/bench/subject"
)

// text of metrics, as their servers write it.
type text string

// each goes through the series of a metric.
func (t text) each(name string, do func(labels map[string]string, value float64)) {
	lines := bufio.NewScanner(strings.NewReader(string(t)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		labels, rest := labelsOf(rest)
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if value, err := strconv.ParseFloat(fields[0], 64); err == nil {
			do(labels, value)
		}
	}
}

// sum adds up the series of a metric.
func (t text) sum(name string) float64 {
	total := 0.0
	t.each(name, func(_ map[string]string, value float64) { total += value })
	return total
}

// labelsOf reads {name="value",...} and returns what follows.
func labelsOf(line string) (labels map[string]string, rest string) {
	labels = map[string]string{}
	line, ok := strings.CutPrefix(line, "{")
	if !ok {
		return labels, line
	}
	for {
		line = strings.TrimLeft(line, ", ")
		if after, ended := strings.CutPrefix(line, "}"); ended {
			return labels, after
		}
		name, after, ok := strings.Cut(line, "=")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil {
			return labels, ""
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return labels, ""
		}
		labels[name], line = value, after[len(quoted):]
	}
}

// figures of the operator, since its start.
type figures struct{ checks, late float64 }

// scrape reads them. The page has several series of every object, so it is not free to make one: at
// rest it is read as often as a Prometheus would.
func scrape(ctx context.Context, of *subject.Subject) (figures, error) {
	page, err := of.Metrics(ctx)
	if err != nil {
		return figures{}, err
	}
	t := text(page)
	return figures{
		checks: t.sum("fairlead_probe_results_total"),
		late:   t.sum("fairlead_probe_late_total"),
	}, nil
}

// goroutines are as many as run now.
func goroutines(ctx context.Context, of *subject.Subject) (float64, error) {
	page, err := of.Profile(ctx, "goroutine?debug=1")
	if err != nil {
		return 0, err
	}
	return goroutinesOf(string(page))
}

func goroutinesOf(profile string) (float64, error) {
	first, _, _ := strings.Cut(profile, "\n")
	n, ok := strings.CutPrefix(first, "goroutine profile: total ")
	if !ok {
		return 0, fmt.Errorf("a goroutine profile begins with %q", first)
	}
	return strconv.ParseFloat(n, 64)
}
