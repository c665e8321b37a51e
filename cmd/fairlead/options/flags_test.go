// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// parseFlags runs a command line with an optional file through the flags.
func parseFlags(t *testing.T, file string, args ...string) (*Configuration, error) {
	t.Helper()
	flags := NewFlags()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, group := range flags.Groups.FlagSets {
		set.AddFlagSet(group)
	}
	if file != "" {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(header+file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	return flags.Configuration()
}

func TestFlagsOverrideTheFileAndOnlyThoseGiven(t *testing.T) {
	got, err := parseFlags(t, `
namespaces: [a, b]
webhook: {port: 1000, drainDelay: 1s}
controllers: {concurrency: {ExternalService: 5, ChaosPod: 6}}
leaderElection: {leaderElect: false, resourceName: ours}
`,
		"--webhook-port=2000", "--namespaces=c", "--concurrency=ChaosPod=9", "--leader-elect",
		"--leader-elect-lease-duration=30s")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Namespaces = []string{"c"}
	want.Webhook.Port = 2000
	want.Webhook.DrainDelay = duration(time.Second)
	want.Controllers.Concurrency = map[string]int{"ExternalService": 5, "ChaosPod": 9, "RebootPolicy": 10}
	want.LeaderElection.ResourceName = "ours"
	want.LeaderElection.LeaseDuration = duration(30 * time.Second)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheLevelIsCalledVAsWell(t *testing.T) {
	for args, want := range map[string]string{"-v=2": "2", "-v 7": "7", "-v=error": "error", "--log-level=debug": "debug"} {
		got, err := parseFlags(t, "logging: {level: info}\n", strings.Fields(args)...)
		if err != nil || string(got.Logging.Level) != want {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
	// What users of other components type by habit is known, and refused with the reason.
	if _, err := parseFlags(t, "", "-v=10"); err == nil || !strings.Contains(err.Error(), "logging.level") ||
		!strings.Contains(err.Error(), "from 1 to 7") || !strings.Contains(err.Error(), "Secrets") {
		t.Errorf("-v=10: %v", err)
	}
}

func TestAFlagGivenWithItsDefaultStillOverrides(t *testing.T) {
	got, err := parseFlags(t, "webhook: {port: 1000}\n", "--webhook-port=9443")
	if err != nil {
		t.Fatal(err)
	}
	if got.Webhook.Port != 9443 {
		t.Errorf("port %d, want 9443", got.Webhook.Port)
	}
}

func TestEveryFlagHasHelpAndTheDefaultOfTheConfiguration(t *testing.T) {
	flags := NewFlags()
	count := 0
	for name, group := range flags.Groups.FlagSets {
		group.VisitAll(func(flag *pflag.Flag) {
			count++
			if !strings.HasSuffix(flag.Usage, ".") {
				t.Errorf("%s: --%s: help %q is no sentence", name, flag.Name, flag.Usage)
			}
			if _, carried := flags.apply[flag.Name]; !carried && flag.Name != "config" {
				t.Errorf("--%s overrides nothing", flag.Name)
			}
		})
	}
	if count != len(flags.apply)+1 {
		t.Errorf("%d flags, %d carried", count, len(flags.apply))
	}
	if diff := cmp.Diff(Default(), flags.given); diff != "" {
		t.Errorf("declaring flags changed a default:\n%s", diff)
	}
}

func TestFlagsSayWhatAReplicaOfACommonFileDoes(t *testing.T) {
	const file = "leaderElection: {leaderElect: true}\nwebhook: {port: 9443}\n"
	for flag, want := range map[string][2]bool{"": {true, true}, "--webhooks=false": {false, true}, "--controllers=false": {true, false}} {
		var args []string
		if flag != "" {
			args = append(args, flag)
		}
		got, err := parseFlags(t, file, args...)
		if err != nil {
			t.Fatal(err)
		}
		if roles := [2]bool{got.Webhook.Enabled, got.Controllers.Enabled}; roles != want {
			t.Errorf("%q: webhooks and controllers are %v, want %v", flag, roles, want)
		}
	}
	if _, err := parseFlags(t, file, "--webhooks=false", "--controllers=false"); err == nil ||
		!strings.Contains(err.Error(), "webhook.enabled") || !strings.Contains(err.Error(), "controllers.enabled") {
		t.Errorf("with nothing to do: %v", err)
	}
}

func TestErrorsNameTheFileOrTheFlags(t *testing.T) {
	if _, err := parseFlags(t, "webhook: {port: 70000}\n"); err == nil || !strings.Contains(err.Error(), "c.yaml") || !strings.Contains(err.Error(), "webhook.port") {
		t.Errorf("from the file: %v", err)
	}
	if _, err := parseFlags(t, "", "--webhook-port=70000"); err == nil || !strings.HasPrefix(err.Error(), "flags: ") {
		t.Errorf("from the flags: %v", err)
	}
}
