// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/bench/subject"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// sampling is how often the operator is looked at.
const sampling = time.Second

// sampler looks at what the operator uses.
type sampler struct {
	of                 *subject.Subject
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
	page, err := samples(ctx, s.of)
	s.memory = max(s.memory, s.usage.Memory)
	s.goroutines = max(s.goroutines, page["go_goroutines"])
	return err
}

func samples(ctx context.Context, of *subject.Subject) (framework.Samples, error) {
	page, err := of.Metrics(ctx)
	return framework.ReadSamples(page), err
}

// endings are how many restarts ended in which way.
func endings(ctx context.Context, of *subject.Subject) (map[string]int, error) {
	page, err := samples(ctx, of)
	ended := map[string]int{}
	for _, row := range page.Rows("fairlead_rebootpolicy_restarts_total") {
		_, after, _ := strings.Cut(row, `result="`)
		result, _, _ := strings.Cut(after, `"`)
		ended[result] += int(page[row])
	}
	return ended, err
}
