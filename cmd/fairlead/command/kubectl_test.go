// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"
)

func TestTheFlagsOfKubectlAreTakenByEachCommandAndListedOnce(t *testing.T) {
	code, stdout, _ := runCommand(t, "options")
	for _, want := range []string{"--tls-server-name", "--token", "--cluster", "--request-timeout", "--template"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, nothing says %s:\n%s", code, want, stdout)
		}
	}
	_, stdout, _ = runCommand(t, "why", "--help")
	if !strings.Contains(stdout, `Use "fairlead options"`) || !strings.Contains(stdout, "--request-timeout") || strings.Contains(stdout, "--tls-server-name") {
		t.Error(stdout)
	}
	code, _, stderr := runCommand(t, "why", "rbp", "a", "--kubeconfig", unreachable(t), "--server=http://127.0.0.1:2")
	if code != 2 || !strings.Contains(stderr, "127.0.0.1:2") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestWhatARequestChangesIsPrintedAsKubectlPrintsIt(t *testing.T) {
	ready := []any{map[string]any{"type": "Ready", "status": "True", "reason": "Watching", "message": "", "lastTransitionTime": "2026-03-02T12:00:00Z"}}
	t.Setenv("KUBECONFIG", reachable(t, "shop", map[string]any{"/apis/autoreboot.fairlead.dev/v1/namespaces/shop/rebootpolicies/api": map[string]any{
		"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "RebootPolicy", "metadata": map[string]any{"name": "api", "namespace": "shop"},
		"spec": map[string]any{"targets": []any{map[string]any{"kind": "Deployment", "name": "api"}}}, "status": map[string]any{"conditions": ready}}}))
	for line, want := range map[string]string{
		"restart rbp api --dry-run=client -o name":                             "rebootpolicy.autoreboot.fairlead.dev/api\n",
		"suspend rbp/api --dry-run=client -o jsonpath={.kind}={.spec.suspend}": "RebootPolicy=true",
		"version -o jsonpath={.go}":                                            "go1.",
		"version -o go-template={{.go}}":                                       "go1.",
	} {
		code, stdout, stderr := runCommand(t, strings.Fields(line)...)
		if code != 0 || !strings.HasPrefix(stdout, want) || strings.Contains(line, "dry-run") && !strings.Contains(stderr, "nothing was sent (client dry run)") {
			t.Errorf("%s: exit code %d, %q, %q", line, code, stdout, stderr)
		}
	}
}
