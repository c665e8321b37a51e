// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Page is the replica's page of metrics, as the holder of the token may see it.
func (r *Replica) Page(ctx context.Context, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	url := r.Metrics + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	// The metrics server signs its own certificate unless it is given one.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, response.Status, page)
	}
	return string(page), err
}

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
