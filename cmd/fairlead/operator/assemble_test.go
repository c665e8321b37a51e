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
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// assembled makes an operator from a configuration. Nothing is sent anywhere.
func assembled(t *testing.T, logger logr.Logger, change func(*options.Configuration)) *Operator {
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
	return made
}

// An API server that takes no connections costs the warnings of overlaps, and the process goes on.
func TestWhatCannotBeReadForWarningsIsTriedAgainAndEndsNothing(t *testing.T) {
	told := make(chan string, 100)
	logger := funcr.New(func(_, args string) { told <- args }, funcr.Options{})
	l := assembled(t, logger, func(c *options.Configuration) { c.Controllers.Enabled, c.Webhook.Certificates.InjectCA = false, false })
	l.reachable, l.serve = func(context.Context) error { return nil }, serving{} // which never ends without an API server
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	for line := range told {
		if strings.Contains(line, "writers are not warned of overlaps; retrying") {
			break
		}
	}
	if got := l.startup.status().Phases[4]; got.State != stateRunning {
		t.Errorf("caches are %s", got.State)
	}
	select {
	case err := <-done:
		t.Errorf("it has ended: %v", err)
	default:
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEachRoleIsAssembledFromWhatItNeedsAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change           func(*options.Configuration)
		serves           bool
		reconciles       bool
		work             string
		present, without []string
	}{
		"both": {
			func(*options.Configuration) {}, true, true, "15s", []string{"webhooks", "leader", "identity"}, nil,
		},
		"only webhooks, although the file says leaderElect": {
			func(c *options.Configuration) { c.Controllers.Enabled = false }, true, false, "15s", []string{"webhooks", "leader"}, []string{"identity"},
		},
		"only reconcilers, which need no time to drain": {
			func(c *options.Configuration) { c.Webhook.Enabled = false }, false, true, "1m5s", []string{"webhooks", "leader", "identity"}, nil,
		},
		// It reads neither a certificate nor a file of authorities.
		"only reconcilers, with files of others": {
			func(c *options.Configuration) {
				c.Webhook.Enabled, c.LeaderElection.LeaderElect = false, false
				c.Webhook.Certificates.Source, c.Webhook.Clients.CAFile = options.SourceFolder, "/does/not/exist"
			}, false, true, "1m5s", []string{"webhooks"}, []string{"leader"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := assembled(t, logr.Discard(), test.change)
			if (len(l.serve.server) == 1) != test.serves || (len(l.serve.phases) == 3) != test.serves || (len(l.serve.certificates) > 0) != test.serves {
				t.Errorf("serves webhooks: %+v", l.serve)
			}
			if got := l.reconcile.name == "manager"; got != test.reconciles {
				t.Errorf("the second half is %s", l.reconcile.name)
			}
			if l.workTimeout.String() != test.work {
				t.Errorf("reconcilers have %s to end", l.workTimeout)
			}
			var facts []string
			for _, fact := range l.startup.status().Facts {
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
