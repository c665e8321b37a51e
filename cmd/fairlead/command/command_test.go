// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("POD_NAMESPACE", "fairlead-system")
	var out, errs bytes.Buffer
	code = Execute(args, Options{Output: &out, Logs: &errs})
	return code, out.String(), errs.String()
}

func TestWhatIsWrongIsOneLineThatNamesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\nwebhook:\n  prot: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(twice, []byte("logging: {}\nlogging: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(broken, []byte("current-context: nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"unknown command":        {[]string{"serve"}, []string{`unknown command "serve"`}},
		"unknown flag":           {[]string{"manager", "--webhook-port=1"}, []string{"--webhook-port", "--set=FIELD=VALUE", "--help"}},
		"unknown field":          {[]string{"manager", "--config", file}, []string{file + ":4", "webhook.prot"}},
		"field given twice":      {[]string{"manager", "--config", twice}, []string{twice, "line 2", "logging"}},
		"a field of --set":       {[]string{"manager", "--set=webhook.prot=1"}, []string{"--set", `unknown field "webhook.prot"`}},
		"missing configuration":  {[]string{"manager", "--config", file + ".no"}, []string{file + ".no"}},
		"durations that clash":   {[]string{"manager", "--set=leaderElection.leaseDuration=5s"}, []string{"leaderElection.leaseDuration", "renewDeadline"}},
		"missing kubeconfig":     {[]string{"manager", "--kubeconfig", broken + ".no"}, []string{broken + ".no"}},
		"kubeconfig of no use":   {[]string{"manager", "--kubeconfig", broken}, []string{broken}},
		"version takes no words": {[]string{"version", "please"}, []string{"please"}},
		"unknown output":         {[]string{"version", "-o", "xml"}, []string{"xml", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runCommand(t, test.args...)
			if code == 0 {
				t.Error("exit code 0")
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fairlead: ") {
				t.Errorf("not one line: %q", stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q does not say %q", stderr, want)
				}
			}
		})
	}
}

func TestAKubeconfigThatPointsNowhereEndsInBoundedTimeAndNamesTheServer(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	// Port 1 of loopback refuses.
	content := `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runCommand(t, "manager", "--kubeconfig", kubeconfig, "--set=clientConnection.startTimeout=3s", "--log-level=error",
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"https://127.0.0.1:1", kubeconfig, "connection refused", "3s", "clientConnection.startTimeout"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not say %q", stderr, want)
		}
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	code, stdout, stderr := runCommand(t, "manager", "--help")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"--config", "--set FIELD=VALUE", "--leader-elect ", "--metrics-bind-address", "-v, --log-level", "SIGTERM"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("help does not say %q", want)
		}
	}
}

func TestVersionIsTextOrJSON(t *testing.T) {
	if code, stdout, _ := runCommand(t, "version"); code != 0 || !strings.HasPrefix(stdout, "fairlead ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	if code, stdout, _ := runCommand(t, "version", "-o", "json"); code != 0 || !strings.Contains(stdout, `"platform"`) {
		t.Errorf("exit code %d, %q", code, stdout)
	}
}

func TestHelpBeginsWithASentenceAndGroupsTheCommandsByWhatTheyAreFor(t *testing.T) {
	code, stdout, _ := runCommand(t, "--help")
	words := regexp.MustCompile(`(?m)^(?:([A-Z]\w+):|  ([a-z-]+) .*)$`)
	var got []string
	for _, m := range words.FindAllStringSubmatch(stdout, -1) {
		got = append(got, m[1]+m[2])
	}
	want := strings.Fields("Usage fairlead Look status why what-if ui Act restart retry suspend resume approve run fault failback drain Check check vet convert Move migrate publish")
	if code != 0 || len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("exit code %d, %q", code, got)
	}
	if !strings.HasPrefix(stdout, "Shows and controls") || !strings.Contains(stdout, "\nUsage:\n  fairlead [command]\n") || strings.Contains(stdout, "rotate-ca") {
		t.Errorf("%s", stdout)
	}
}
