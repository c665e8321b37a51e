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

	"github.com/fairlead-dev/fairlead/test/bench/subject"
)

const (
	// PerObject is how many addresses an ExternalService has.
	PerObject = 5
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
	// 10,000, and the most is 23,600.
	Objects int
	// Steady is how long the operator is watched at rest. The default is 60s.
	Steady time.Duration
	// Limit is the maximal duration of the whole run. The default is 45m. On two idle processors, 10,000 objects take some ten
	// minutes; most of it is their creation.
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
	if most := addresses/PerObject - 2*mostNames; o.Objects < 0 || o.Objects > most {
		return Result{}, fmt.Errorf("probes: %d objects: there are addresses for 1 to %d", o.Objects, most)
	}
	r := &run{options: o, result: Result{objects: o.Objects}}
	defer func() { err = errors.Join(err, r.close()) }()
	err = subject.Walk(ctx, o.Limit, r.say,
		subject.Step{Title: "start a control plane", Do: r.open},
		subject.Step{Title: "make the objects", Do: r.populate},
		subject.Step{Title: "publish them", Do: r.publish},
		subject.Step{Title: "come to rest", Do: r.settle},
		subject.Step{Title: "be at rest", Do: r.rest},
		subject.Step{Title: "take profiles", Do: r.profile},
		subject.Step{Title: "have addresses fail", Do: r.fail},
		subject.Step{Title: "start again", Do: r.restart},
		subject.Step{Title: "have names resolve to other addresses", Do: r.names},
	)
	if err != nil {
		return Result{}, fmt.Errorf("probes: %w", err)
	}
	return r.result, nil
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.options.Output, "probes: "+format+"\n", args...) // progress is worth no failure
}
