// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/subject"
)

// Options of Run.
type Options struct {
	// Root is the checkout whose operator and manifests are measured.
	Root string
	// Objects is how many ExternalServices there are, in 30 namespaces. The default is 30,000.
	Objects int
	// Checked is how many of them publish five addresses each and check them; the others are suspended. The default
	// is 3,000, and the most 25,000.
	Checked int
	// Limit is how long all of it may take. The default is 45m.
	Limit time.Duration
	// Output takes progress. The default is none.
	Output io.Writer
}

// Run measures. It starts a control plane and leaves nothing of it. With an error it returns what was measured before.
func Run(ctx context.Context, o Options) (result Result, err error) {
	o.Objects, o.Limit = cmp.Or(o.Objects, 30_000), cmp.Or(o.Limit, 45*time.Minute)
	o.Checked = min(cmp.Or(o.Checked, 3000), o.Objects)
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Checked < 1 || o.Checked > 25_000 {
		return Result{}, fmt.Errorf("shards: %d of %d objects checked: there may be 1 to 25000", o.Checked, o.Objects)
	}
	if o.Root, err = filepath.Abs(o.Root); err != nil { // kubectl runs in a folder of its own
		return Result{}, err
	}
	r := &run{options: o, running: map[string]*leader{}}
	defer func() { err = errors.Join(err, r.close()) }()
	err = subject.Walk(ctx, o.Limit, r.say,
		subject.Step{Title: "start a control plane", Do: r.open},
		subject.Step{Title: "make and publish the objects", Do: r.populate},
		subject.Step{Title: "measure one leader", Do: r.single},
		subject.Step{Title: "measure three shards", Do: r.three},
		subject.Step{Title: "move namespaces and kill shards under load", Do: r.load},
	)
	if err != nil {
		err = fmt.Errorf("shards: %w", err)
	}
	return r.result, err
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.options.Output, "shards: "+format+"\n", args...) // progress is worth no failure
}
