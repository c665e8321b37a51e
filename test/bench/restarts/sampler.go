// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/stage"
)

// sampling is how often the operator is looked at.
const sampling = time.Second

// sampler looks at what the operator uses.
type sampler struct {
	of                 *operator
	at                 time.Time
	usage              process.Usage
	memory, goroutines float64 // the most
}

// often looks, if it is time to.
func (s *sampler) often(ctx context.Context) error {
	if time.Since(s.at) < sampling {
		return nil
	}
	return s.look(ctx)
}

func (s *sampler) look(ctx context.Context) (err error) {
	s.at = time.Now()
	if s.usage, err = process.UsageOf(s.of.PID()); err != nil {
		return err
	}
	page, err := s.of.page(ctx)
	s.memory = max(s.memory, s.usage.Memory)
	s.goroutines = max(s.goroutines, page["go_goroutines"])
	return err
}

func (o *operator) page(ctx context.Context) (stage.Samples, error) {
	page, err := read(ctx, o.metrics)
	return stage.ReadSamples(string(page)), err
}

// endings are how many restarts ended in which way.
func (o *operator) endings(ctx context.Context) (map[string]int, error) {
	page, err := o.page(ctx)
	endings := map[string]int{}
	for _, row := range page.Rows("fairlead_rebootpolicy_restarts_total") {
		_, after, _ := strings.Cut(row, `result="`)
		result, _, _ := strings.Cut(after, `"`)
		endings[result] += int(page[row])
	}
	return endings, err
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
