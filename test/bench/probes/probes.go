// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
)

const (
	// perObject is how many addresses an ExternalService has.
	perObject = 5
	// watched is how many ExternalServices have an address that is made to fail.
	watched = 100
	// interval of the checks; the API adds up to a tenth.
	interval = 10 * time.Second
	// failures in a row that make an address unhealthy.
	failures = 3
)

// Options of Run.
type Options struct {
	// Root is the checkout whose operator and manifests are measured.
	Root string
	// Objects is how many ExternalServices there are, with five addresses each. The default is
	// 10,000, and the most is 25,000.
	Objects int
	// Steady is how long the operator is watched at rest. The default is 60s.
	Steady time.Duration
	// Limit is how long all of it may take. The default is 45m; on two idle processors 10,000
	// objects take some ten minutes, most of which goes into making them.
	Limit time.Duration
	// Profiles is a folder for profiles of the operator at rest. The default is none.
	Profiles string
	// Output takes progress. The default is none.
	Output io.Writer
}

// Run measures. It starts a control plane and leaves nothing of it.
func Run(ctx context.Context, o Options) (result Result, err error) {
	o.Objects = cmp.Or(o.Objects, 10_000)
	o.Steady = cmp.Or(o.Steady, time.Minute)
	o.Limit = cmp.Or(o.Limit, 45*time.Minute)
	if o.Output == nil {
		o.Output = io.Discard
	}
	if most := addresses / perObject; o.Objects < 0 || o.Objects > most {
		return Result{}, fmt.Errorf("probes: %d objects: there are addresses for 1 to %d", o.Objects, most)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limit,
		fmt.Errorf("not done after %s: measure fewer objects, or on a machine that is less busy", o.Limit))
	defer cancel()
	r := &run{Options: o}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, step := range []struct {
		title string
		do    func(context.Context) error
	}{
		{"start a control plane", r.open},
		{"make the objects", r.populate},
		{"publish them", r.publish},
		{"come to rest", r.settle},
		{"be at rest", r.rest},
		{"take profiles", r.profile},
		{"have addresses fail", r.fail},
		{"start anew", r.restart},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", cause, err)
			}
			return Result{}, fmt.Errorf("probes: %s: %w", step.title, err)
		}
		r.say("%s: %.1fs, load average %s", step.title, time.Since(began).Seconds(), process.Load())
	}
	return r.result, nil
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Output, "probes: "+format+"\n", args...) // progress is worth no failure
}
