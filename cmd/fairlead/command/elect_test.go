// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// A kubeconfig of a server that is never asked: what is tested here is wrong before that.
func unusedKubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u, namespace: shop}}], users: [{name: u, user: {}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestElectSaysWhatIsWrongByItsExitCodeAndInOneLine(t *testing.T) {
	kubeconfig := "--kubeconfig=" + unusedKubeconfig(t)
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"no command":             {[]string{"--lease-lock-name=turn"}, 125, []string{"after --"}},
		"a command without --":   {[]string{"--lease-lock-name=turn", "true"}, 125, []string{"after --"}},
		"nothing after --":       {[]string{"--lease-lock-name=turn", "--"}, 125, []string{"after --"}},
		"no Lease":               {[]string{kubeconfig, "--", "true"}, 125, []string{"--lease-lock-name"}},
		"unknown flag":           {[]string{"--lease-lock-nam=turn", "--", "true"}, 125, []string{"--lease-lock-nam", "elect --help"}},
		"missing kubeconfig":     {[]string{"--kubeconfig=" + kubeconfig + ".no", "--lease-lock-name=turn", "--", "true"}, 125, []string{"kubeconfig.no"}},
		"a grace that is long":   {[]string{kubeconfig, "--lease-lock-name=turn", "--grace=5s", "--", "true"}, 125, []string{"grace 5s", "at most 4s", "15s"}},
		"durations that clash":   {[]string{kubeconfig, "--lease-lock-name=turn", "--leader-elect-lease-duration=5s", "--", "true"}, 125, []string{"lease duration, 5s", "renew deadline 10s"}},
		"no such command":        {[]string{kubeconfig, "--lease-lock-name=turn", "--", "fairlead-has-no-such-command"}, 127, []string{"fairlead-has-no-such-command", "not found"}},
		"a command that is none": {[]string{kubeconfig, "--lease-lock-name=turn", "--", t.TempDir()}, 126, []string{"is a directory"}},
		"a guard by hand":        {[]string{"--guard", "--", "true"}, 125, []string{"internal"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append([]string{"elect"}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fairlead: ") {
				t.Errorf("stdout %q, and not one line: %q", stdout, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q does not say %q", stderr, want)
				}
			}
		})
	}
}

// Candidates take turns as replicas do, unless they are told otherwise.
func TestElectHasTheDurationsOfTheManager(t *testing.T) {
	defaults := map[string]string{}
	for _, field := range options.Fields() {
		defaults[field.Path] = field.Default
	}
	for name, path := range map[string]string{
		"leader-elect-lease-duration": "leaderElection.leaseDuration", "leader-elect-renew-deadline": "leaderElection.renewDeadline",
		"leader-elect-retry-period": "leaderElection.retryPeriod",
	} {
		if ours := Elect(Options{}).Flags().Lookup(name); ours == nil || ours.DefValue != defaults[path] {
			t.Errorf("--%s of elect is %+v, %s of the manager %q", name, ours, path, defaults[path])
		}
	}
}
