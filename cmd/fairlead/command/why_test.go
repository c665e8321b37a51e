// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unreachable is a kubeconfig of an API server that refuses connections: port 1 of loopback does.
func unreachable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatCannotBeInspectedIsOneLineWithARemedyAndExitsWith2(t *testing.T) {
	kubeconfig := unreachable(t)
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no object":               {[]string{"why"}, []string{"TYPE/NAME or TYPE NAME", "--help"}},
		"no kind":                 {[]string{"why", "payments", "--kubeconfig", kubeconfig}, []string{`"payments" is not TYPE/NAME`, "deployment/web"}},
		"unknown kind":            {[]string{"why", "node/a", "--kubeconfig", kubeconfig}, []string{`unknown kind "node"`, "rebootpolicy", "deployment", "pod"}},
		"unknown type":            {[]string{"why", "node", "a", "--kubeconfig", kubeconfig}, []string{`unknown kind "node"`}},
		"unknown output":          {[]string{"why", "rbp/a", "-o", "xml"}, []string{`"xml"`, "json"}},
		"no time":                 {[]string{"why", "rbp/a", "--timeout=0s"}, []string{"--timeout 0s", "greater than 0"}},
		"unknown flag":            {[]string{"why", "rbp/a", "--watch"}, []string{"--watch", "why --help"}},
		"no kubeconfig":           {[]string{"why", "rbp/a", "--kubeconfig", kubeconfig + ".no"}, []string{kubeconfig + ".no"}},
		"no selector":             {[]string{"status", "-l", "a in", "--kubeconfig", kubeconfig}, []string{"--selector", `"a in"`}},
		"two selections":          {[]string{"status", "rbp/a", "-A", "--kubeconfig", kubeconfig}, []string{"--all-namespaces", "not both"}},
		"no status":               {[]string{"status", "-A", "--kubeconfig", kubeconfig}, []string{"does not answer", "127.0.0.1:1"}},
		"no object to restart":    {[]string{"restart"}, []string{"{rebootpolicy/NAME|WORKLOAD/NAME}", "restart --help"}},
		"no server of a workload": {[]string{"restart", "deployment", "a", "--kubeconfig", kubeconfig}, []string{"does not answer"}},
		"a kind without runs":     {[]string{"run", "rbp/a", "--kubeconfig", kubeconfig}, []string{"RebootPolicy has no run", "chaospod/NAME"}},
		"an unknown dry run":      {[]string{"retry", "rbp/a", "--dry-run=all"}, []string{`"all"`, `"client"`}},
		"an unknown format":       {[]string{"retry", "rbp/a", "-o", "xml"}, []string{`"xml"`, "jsonpath"}},
		"a kind without suspend":  {[]string{"suspend", "deployment/a"}, []string{"Deployment has no spec.suspend"}},
		"a path that is broken":   {[]string{"why", "rbp/a", "-o", "jsonpath={"}, []string{"jsonpath"}},
		"groups without a user":   {[]string{"why", "rbp/a", "--as-group=a", "--kubeconfig", kubeconfig}, []string{"--as"}},
		"an unknown command":      {[]string{"serve"}, []string{`unknown command "serve"`}},
		"a fault without an end":  {[]string{"fault", "extsvc/a", "BlackHole", "--kubeconfig", kubeconfig}, []string{"--for", "1h"}},
		"an end with a span":      {[]string{"fault", "extsvc/a", "--undo", "--for=1m", "--kubeconfig", kubeconfig}, []string{"--undo takes neither --for nor --endpoint"}},
		"an end with a type":      {[]string{"fault", "extsvc/a", "BlackHole", "--undo", "--kubeconfig", kubeconfig}, []string{"give 1 arguments, not 2"}},
		"an unknown fault":        {[]string{"fault", "extsvc/a", "Fire", "--for=1m", "--kubeconfig", kubeconfig}, []string{"BlackHole, Drain or FailOver"}},
		"a negative wait":         {[]string{"failback", "extsvc/a", "--wait=-1s"}, []string{"--wait -1s", "negative"}},
		"a drain of nothing":      {[]string{"drain", "extsvc/a"}, []string{"give 2 arguments, not 1", "ENDPOINT"}},
		"a drain of a policy":     {[]string{"drain", "rbp/a", "b", "--kubeconfig", kubeconfig}, []string{"RebootPolicy has no endpoints"}},
		"a rotation of an object": {[]string{"rotate-ca", "extsvc/a"}, []string{"give 0 arguments, not 1"}},
		"no server to ask":        {[]string{"failback", "extsvc/a", "--kubeconfig", kubeconfig}, []string{"does not answer", "127.0.0.1:1"}},
		"no source":               {[]string{"what-if"}, []string{"TYPE/NAME", "-f", "what-if --help"}},
		"a source and manifests":  {[]string{"what-if", "secret/a", "-f", "-"}, []string{"not both"}},
		"keys of manifests":       {[]string{"what-if", "--key=a", "-f", "-"}, []string{"--key goes with TYPE/NAME"}},
		"a workload as a source":  {[]string{"what-if", "deployment/a", "--kubeconfig", kubeconfig}, []string{`"deployment"`, "secret, configmap"}},
		"a diagram of a forecast": {[]string{"what-if", "secret/a", "-o", "dot"}, []string{`--output "dot"`, "markdown"}},
		"no manifests":            {[]string{"what-if", "-f", kubeconfig + ".no", "--kubeconfig", kubeconfig}, []string{kubeconfig + ".no"}},
		"no server to foresee by": {[]string{"what-if", "cm/a", "--kubeconfig", kubeconfig}, []string{"does not answer", "127.0.0.1:1"}},
		"no API server":           {[]string{"why", "rbp/a", "--kubeconfig", kubeconfig}, []string{"does not answer", "127.0.0.1:1", "kubeconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, test.args...)
			if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q does not say %q", stderr, want)
				}
			}
		})
	}
}
