// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// settleTime is how long changes gather before they are shown.
const settleTime = 500 * time.Millisecond

// follow shows what is, and from then on each change, until it is interrupted. Choose returns what is to be shown of a graph.
func (f *statusFlags) follow(
	parent context.Context, from client.WithWatch, namespace string, choose func(*inspect.Graph) (*inspect.Status, error), to io.Writer,
) error {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	changed := make(chan struct{}, 1)
	live, err := inspect.Follow(ctx, from, namespace, func() {
		select {
		case changed <- struct{}{}:
		default: // it is told already
		}
	})
	if err != nil {
		return err
	}
	live.FollowLeaders(ctx, f.operatorNamespace, clock.RealClock{})
	graph := live.Graph()
	status, err := choose(graph)
	if err != nil {
		return err
	}
	if err := f.show(status, namespace, to); err != nil {
		return err
	}
	for shown := linesOf(status, f.allNamespaces); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(settleTime):
		}
		lines := map[string]string{} // one that was named and is gone has none
		if status, err := choose(live.Graph()); err == nil {
			lines = linesOf(status, f.allNamespaces)
		}
		now := time.Now().UTC().Format(time.RFC3339)
		err := printable(to, func(to io.Writer) error {
			for _, line := range differences(shown, lines) {
				_, _ = fmt.Fprintf(to, "%s  %s\n", now, line) // into memory
			}
			return nil
		})
		if err != nil {
			return err
		}
		shown = lines
	}
}

// linesOf returns what is shown of each object, and of what could not be read, by its name.
func linesOf(status *inspect.Status, allNamespaces bool) map[string]string {
	lines := map[string]string{}
	var add func(branches []inspect.Branch)
	add = func(branches []inspect.Branch) {
		for i := range branches {
			b := &branches[i]
			name := b.Kind + "/" + b.Name
			if allNamespaces && b.Namespace != "" {
				name = b.Namespace + "  " + name
			}
			lines[name] = string(b.Health)
			for _, text := range []string{b.Said, b.Waiting} {
				if text != "" {
					lines[name] += ": " + text
				}
			}
			add(b.Branches)
		}
	}
	add(status.Trees)
	for _, l := range inspect.Lacking(status.Leaders) {
		lines["Operator"] += l.Sentence() + " "
	}
	for _, u := range status.Unread {
		lines["Not known"] += u.String() + ". "
	}
	return lines
}

// differences returns a line for each name of which something else is shown now, in their order.
func differences(before, now map[string]string) (lines []string) {
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := before[name]
		is, has := now[name]
		switch {
		case !has:
			lines = append(lines, name+"  gone; it was "+was)
		case !had:
			lines = append(lines, name+"  "+is)
		case is != was:
			lines = append(lines, name+"  "+is+"; it was "+was)
		}
	}
	return lines
}
