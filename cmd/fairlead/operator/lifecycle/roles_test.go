// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
)

// states are those of all phases, in their order.
func states(r *phases.Recorder) (all []phases.State) {
	for _, row := range r.Status().Phases {
		all = append(all, row.State)
	}
	return all
}

func TestAReplicaWithoutWebhooksOnlyReconciles(t *testing.T) {
	l, d := fakes(t)
	l.skip = map[phases.Phase]string{phases.Certificates: "elsewhere", phases.WebhookServer: "elsewhere", phases.CAPublished: "elsewhere"}
	l.prepare, l.refresh, l.webhook, l.ready, l.publish, l.republish = nil, nil, nil, nil, nil, nil
	l.made.Caches = []Component{{"cache", d.runs("cache")}}
	l.Background = []Component{{"ranges", func(ctx context.Context) error { d.await(t, "+probes"); return d.runs("ranges")(ctx) }}}
	l.Create = func(context.Context) (*Controllers, error) {
		d.await(t, "+ranges")
		d.write("settled")
		return l.made, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := ran(ctx, l)
	d.await(t, "+reconcile")
	want := []string{"+probes", "+ranges", "settled", "+cache", "synced", "warmed", "elected", "+reconcile"}
	if diff := cmp.Diff(want, d.read()); diff != "" {
		t.Errorf("start, -want +got:\n%s", diff)
	}
	skipped, ended := phases.Skipped, phases.Done
	if diff := cmp.Diff([]phases.State{ended, skipped, skipped, skipped, ended, ended, ended}, states(l.recorder)); diff != "" {
		t.Errorf("phases, -want +got:\n%s", diff)
	}
	before := len(d.read())
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
	want = []string{"-reconcile", "released", "-cache", "-ranges", "-probes"}
	if diff := cmp.Diff(want, d.read()[before:]); diff != "" {
		t.Errorf("stop, -want +got:\n%s", diff)
	}
}

func TestAReplicaWithoutControllersOnlyServes(t *testing.T) {
	for name, onlook := range map[string]func(d *callLog) Run{
		"warned of overlaps": func(d *callLog) Run { return d.runs("onlook") },
		// What fills for ever, or cannot be filled, costs warnings and nothing else.
		"never filled": func(d *callLog) Run {
			return func(ctx context.Context) error {
				defer d.write("-onlook")
				d.write("+onlook")
				<-ctx.Done()
				return ctx.Err()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := fakes(t)
			l.skip = map[phases.Phase]string{phases.Election: "elsewhere", phases.Reconcilers: "elsewhere"}
			l.warningCache = func(ctx context.Context) error { d.await(t, "+republish"); return onlook(d)(ctx) }
			l.Create = func(context.Context) (*Controllers, error) { d.write("controllers"); return l.made, nil }
			l.Elect = func(context.Context, func(context.Context) error) error { d.write("elected"); return nil }
			ctx, cancel := context.WithCancel(context.Background())
			done := ran(ctx, l)
			d.await(t, "+onlook")
			if diff := cmp.Diff(append(slices.Clone(started[:7]), "+onlook"), d.read()); diff != "" {
				t.Errorf("start, -want +got:\n%s", diff)
			}
			before := len(d.read())
			cancel()
			if err := result(t, done); err != nil {
				t.Error(err)
			}
			got := d.read()[before:]
			slices.Sort(got[1:3]) // the certificate and the root end together
			if diff := cmp.Diff([]string{"-webhook", "-refresh", "-republish", "-onlook", "-probes"}, got); diff != "" {
				t.Errorf("stop, -want +got:\n%s", diff)
			}
			if got := states(l.recorder); got[5] != phases.Skipped || got[6] != phases.Skipped {
				t.Errorf("election and reconcilers are %v", got[5:])
			}
		})
	}
}

func TestWithoutWebhooksAReplicaIsReadyWhenItCouldTakeOver(t *testing.T) {
	recorder, err := phases.New(phases.Options{})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when, wanted string) {
		t.Helper()
		err := ReadyToLead(recorder.Status())
		if wanted == "" && err != nil || wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)) {
			t.Errorf("%s: %v, want %q", when, err, wanted)
		}
	}
	expect("at first", "api-server is pending")
	recorder.Begin(phases.APIServer)(nil)
	for _, phase := range []phases.Phase{phases.Certificates, phases.WebhookServer, phases.CAPublished} {
		recorder.Skip(phase, "other replicas serve webhooks")
	}
	filled := recorder.Begin(phases.Caches)
	waited := recorder.Wait(phases.Caches, "Service")
	expect("while caches fill", "caches is running: waiting for Service")
	waited()
	filled(nil)
	expect("before the election", "election is pending")
	elected := recorder.Begin(phases.Election)
	expect("as a standby", "")
	elected(nil)
	recorder.Begin(phases.Reconcilers)
	expect("as the leader", "")
}
