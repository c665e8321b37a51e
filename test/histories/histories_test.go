// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// least and most are how many moves a history has.
	least, most = 6, 12
	// nightly is how many histories are played in a long run, and shrinkFor how long a failing one is made shorter.
	nightly   = "25"
	shrinkFor = "20m"
)

// TestTheLawsHoldInGeneratedHistories plays one history, or many in a long run. RAPID_SEED repeats one.
func TestTheLawsHoldInGeneratedHistories(t *testing.T) {
	configure(t)
	r := open(t)
	played := 0
	rapid.Check(t, func(rt *rapid.T) {
		h := histories(least, most).Draw(rt, "history")
		played++
		began := time.Now()
		if err := playOne(t.Context(), r, h); err != nil {
			rt.Fatalf("%v\nthe history:\n%s", err, h)
		}
		rt.Logf("history %d, %d moves, held for %s:\n%s", played, len(h), time.Since(began).Round(time.Second), h)
	})
}

// configure sets the flags of rapid that the caller has not.
func configure(t *testing.T) {
	t.Helper()
	defaults := map[string]string{"rapid.checks": "1", "rapid.shrinktime": "0s", "rapid.nofailfile": "true", "rapid.seed": framework.Seed()}
	if framework.Long() {
		defaults = map[string]string{"rapid.checks": nightly, "rapid.shrinktime": shrinkFor, "rapid.nofailfile": "true"}
	}
	flag.Visit(func(f *flag.Flag) { delete(defaults, f.Name) })
	if os.Getenv("RAPID_SEED") != "" {
		delete(defaults, "rapid.seed")
	}
	if os.Getenv("RAPID_CHECKS") != "" {
		delete(defaults, "rapid.checks")
	}
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// playOne plays a history in a world of its own, and returns which laws were broken.
func playOne(ctx context.Context, r *replicas, h history) (err error) {
	w, err := newWorld(ctx, r.Cluster)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end() // what follows the world
	seen, err := follow(ctx, w)
	if err != nil {
		return err
	}
	p := &player{world: w, replicas: r}
	if err := p.play(ctx, h); err != nil {
		return err
	}
	return w.judge(ctx, seen, p.freezes)
}
