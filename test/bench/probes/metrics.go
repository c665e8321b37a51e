// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
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

// labelsOf reads {name="value",...} and answers what follows.
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

// read fetches a page that needs no authentication.
func read(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, 64<<20))
}

// figures of the operator at one moment.
type figures struct {
	cpu, memory, goroutines, probes, late, targets, queue float64
}

func (o *operator) figures(ctx context.Context) (figures, error) {
	page, err := read(ctx, o.metrics)
	if err != nil {
		return figures{}, err
	}
	t := text(page)
	f := figures{
		cpu:        t.sum("process_cpu_seconds_total"),
		memory:     t.sum("process_resident_memory_bytes"),
		goroutines: t.sum("go_goroutines"),
		probes:     t.sum("fairlead_externalservice_probe_total"),
		late:       t.sum("fairlead_externalservice_probe_late_total"),
		targets:    t.sum("fairlead_externalservice_probe_targets"),
	}
	t.each("workqueue_depth", func(labels map[string]string, value float64) {
		if labels["name"] == "externalservice" {
			f.queue += value
		}
	})
	return f, nil
}
