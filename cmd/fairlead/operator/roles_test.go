// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
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
	l.made.caches = []component{{"cache", d.runs("cache")}}
	l.background = []component{{"ranges", func(ctx context.Context) error { d.await(t, "+probes"); return d.runs("ranges")(ctx) }}}
	l.waitForRanges = func(context.Context) { d.await(t, "+ranges"); d.write("settled") }
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
	for name, onlook := range map[string]func(d *callLog) run{
		"warned of overlaps": func(d *callLog) run { return d.runs("onlook") },
		// What fills for ever, or cannot be filled, costs warnings and nothing else.
		"never filled": func(d *callLog) run {
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
			l.controllers = func(context.Context) (*controllers, error) { d.write("controllers"); return l.made, nil }
			l.elect = func(context.Context, func(context.Context) error) error { d.write("elected"); return nil }
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
		err := readyToLead(recorder.Status())
		if wanted == "" && err != nil || wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)) {
			t.Errorf("%s: %v, want %q", when, err, wanted)
		}
	}
	expect("at first", "api-server is pending")
	recorder.Begin(phases.APIServer)(nil)
	for _, phase := range []phases.Phase{phases.Certificates, phases.WebhookServer, phases.CAPublished} {
		recorder.Skip(phase, servedElsewhere)
	}
	filled := recorder.Begin(phases.Caches)
	recorder.Progress(phases.Caches, "waiting for Service")
	expect("while caches fill", "caches is running: waiting for Service")
	filled(nil)
	expect("before the election", "election is pending")
	elected := recorder.Begin(phases.Election)
	expect("as a standby", "")
	elected(nil)
	recorder.Begin(phases.Reconcilers)
	expect("as the leader", "")
}

// assembled makes a lifecycle from a configuration. Nothing is sent anywhere.
func assembled(t *testing.T, logger logr.Logger, change func(*options.Configuration)) *lifecycle {
	t.Helper()
	c := options.Default()
	c.Service.Namespace, c.LeaderElection.ID = "fairlead-system", "me"
	c.Health.BindAddress, c.Metrics.BindAddress = options.Off, options.Off
	c.ClientConnection.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(c.ClientConnection.Kubeconfig, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	change(c)
	if errs := c.Validate(); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	made, err := New(c, Options{Logger: logger, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return made.lifecycle
}

// An API server that takes no connections costs the warnings of overlaps, and the process goes on.
func TestWhatCannotBeReadForWarningsIsTriedAgainAndEndsNothing(t *testing.T) {
	told := make(chan string, 100)
	logger := funcr.New(func(_, args string) { told <- args }, funcr.Options{})
	l := assembled(t, logger, func(c *options.Configuration) { c.Controllers.Enabled = false })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.warningCache(ctx) }()
	for line := range told {
		if strings.Contains(line, "writers are not warned of overlaps; retrying") {
			break
		}
	}
	if got := l.recorder.Status().Phases[4]; got.State != phases.Running {
		t.Errorf("caches are %s", got.State)
	}
	select {
	case err := <-done:
		t.Errorf("it has ended: %v", err)
	default:
	}
	cancel()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

func TestEachRoleIsAssembledFromWhatItNeedsAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change           func(*options.Configuration)
		serves, elects   bool
		reconciles       bool
		work             string
		present, without []string
	}{
		"both": {
			func(*options.Configuration) {}, true, true, true, "15s", []string{"webhooks", "leader", "identity"}, nil,
		},
		"only webhooks, although the file says leaderElect": {
			func(c *options.Configuration) { c.Controllers.Enabled = false }, true, false, false, "15s", []string{"webhooks", "leader"}, []string{"identity"},
		},
		"only reconcilers, which need no time to drain": {
			func(c *options.Configuration) { c.Webhook.Enabled = false }, false, true, true, "1m5s", []string{"webhooks", "leader", "identity"}, nil,
		},
		// It reads neither a certificate nor a file of authorities.
		"only reconcilers, with files of others": {
			func(c *options.Configuration) {
				c.Webhook.Enabled, c.LeaderElection.LeaderElect = false, false
				c.Webhook.Certificates.Source, c.Webhook.Clients.CAFile = options.SourceFolder, "/does/not/exist"
			}, false, false, true, "1m5s", []string{"webhooks"}, []string{"leader"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := assembled(t, logr.Discard(), test.change)
			if serves := l.webhook != nil && l.prepare != nil && l.publish != nil; serves != test.serves {
				t.Errorf("serves webhooks: %v", serves)
			}
			if _, skips := l.skip[phases.WebhookServer]; skips == test.serves {
				t.Errorf("skips %v", l.skip)
			}
			if elects := l.elect != nil; elects != test.elects {
				t.Errorf("takes part in the election: %v", elects)
			}
			if reconciles := l.controllers != nil; reconciles != test.reconciles || (l.warningCache != nil) == reconciles {
				t.Errorf("has controllers: %v, a cache for warnings alone: %v", reconciles, l.warningCache != nil)
			}
			if l.workTimeout.String() != test.work {
				t.Errorf("reconcilers have %s to end", l.workTimeout)
			}
			var facts []string
			for _, fact := range l.recorder.Status().Facts {
				facts = append(facts, fact.Name)
			}
			for _, fact := range test.present {
				if !slices.Contains(facts, fact) {
					t.Errorf("/statusz does not tell %q: %q", fact, facts)
				}
			}
			for _, fact := range test.without {
				if slices.Contains(facts, fact) {
					t.Errorf("/statusz tells %q: %q", fact, facts)
				}
			}
		})
	}
}
