// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

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
	// perWorkload is how many Secrets a workload takes.
	perWorkload = 4
	// perPolicy is how many workloads a policy restarts at once.
	perPolicy = 10
	// quiet is debounce.quietPeriod.
	quiet = 2 * time.Second
	// away is how many workloads have a Secret changed while no operator runs.
	away = 20
	// mostTargets of a policy.
	mostTargets = 100
)

// Options of Run.
type Options struct {
	// Root is the checkout whose operator and manifests are measured.
	Root string
	// Workloads is how many Deployments there are, with four Secrets each. The default is 1,000.
	Workloads int
	// Targets is how many workloads a policy has, at most 100, which is the default.
	Targets int
	// Cap is how many workloads of the whole cluster may restart at once. The default is 50.
	Cap int
	// Limit is how long all of it may take. The default is 20m; on two idle processors 1,000
	// workloads take some five minutes.
	Limit time.Duration
	// Profiles is a folder for a profile of the operator in the storm. The default is none.
	Profiles string
	// Output takes progress. The default is none.
	Output io.Writer
}

// Run measures. It starts a control plane and leaves nothing of it.
func Run(ctx context.Context, o Options) (result Result, err error) {
	o.Workloads, o.Targets, o.Cap = cmp.Or(o.Workloads, 1000), cmp.Or(o.Targets, mostTargets), cmp.Or(o.Cap, 50)
	o.Limit = cmp.Or(o.Limit, 20*time.Minute)
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Workloads < 1 || o.Workloads > 10_000 || o.Targets < 1 || o.Targets > mostTargets || o.Cap < 1 {
		return Result{}, fmt.Errorf("restarts: %d workloads, %d to a policy, %d at once: there may be 1 to 10000, 1 to %d, and at least 1",
			o.Workloads, o.Targets, o.Cap, mostTargets)
	}
	r := &run{options: o, result: Result{Options: o}, followed: measured}
	defer func() { err = errors.Join(err, r.close()) }()
	err = subject.Walk(ctx, o.Limit, r.say,
		subject.Step{Title: "start a control plane", Do: r.open},
		subject.Step{Title: "make the workloads", Do: r.populate},
		subject.Step{Title: "have the operator know them", Do: r.know},
		subject.Step{Title: "change every Secret", Do: r.storm},
		subject.Step{Title: "change some while no operator runs", Do: r.absence},
		subject.Step{Title: "restart all by a plain client", Do: r.floor},
	)
	if err != nil {
		return Result{}, fmt.Errorf("restarts: %w", err)
	}
	return r.result, nil
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.options.Output, "restarts: "+format+"\n", args...) // progress is worth no failure
}
