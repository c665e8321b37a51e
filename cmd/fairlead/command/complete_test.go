// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reachable is a kubeconfig of an API server that has some objects at the paths of their lists, or at their own.
func reachable(t *testing.T, namespace string, objects map[string]any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object, has := objects[r.URL.Path]
		if w.Header().Set("Content-Type", "application/json"); !has {
			w.WriteHeader(http.StatusForbidden)
			object = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden}
		}
		_ = json.NewEncoder(w).Encode(object)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u, namespace: ` + namespace + `}}], users: [{name: u, user: {}}],
clusters: [{name: c, cluster: {server: "` + server.URL + `"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// list is a list of the metadata of objects with names.
func list(names ...string) map[string]any {
	var items []any
	for _, name := range names {
		items = append(items, map[string]any{"metadata": map[string]any{"name": name}})
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": items}
}

func TestNamesOfObjectsAreCompletedFromTheCluster(t *testing.T) {
	kubeconfig := reachable(t, "shop", map[string]any{
		"/apis/autoreboot.fairlead.dev/v1/namespaces/shop/rebootpolicies":    list("api", "payments", "payments-eu"),
		"/apis/autoreboot.fairlead.dev/v1/namespaces/billing/rebootpolicies": list("ledger"),
		"/apis/apps/v1/namespaces/shop/deployments":                          list("web"),
		"/api/v1/namespaces": list("billing", "shop"),
		"/apis/networking.fairlead.dev/v1/namespaces/shop/externalservices/db": map[string]any{
			"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService", "metadata": map[string]any{"name": "db"},
			"spec": map[string]any{"endpoints": []any{map[string]any{"name": "primary"}, map[string]any{"name": "standby"}}}},
	})
	for line, want := range map[string][]string{
		"retry ":                               {"rebootpolicy/", "chaospod/"},
		"restart ":                             {"rebootpolicy/", "deployment/", "statefulset/", "daemonset/", "rollout/"},
		"restart rbp ":                         {"api", "payments", "payments-eu"},
		"restart rbp api ":                     nil,
		"status rbp api ":                      {"payments", "payments-eu"},
		"fault extsvc db ":                     {"BlackHole", "Drain", "FailOver"},
		"drain extsvc db ":                     {"primary", "standby"},
		"resume ":                              {"externalservice/", "rebootpolicy/", "chaospod/"},
		"suspend rbp/pay":                      {"rbp/payments", "rbp/payments-eu"},
		"why d":                                {"deployment/", "daemonset/"},
		"restart rebootpolicy/":                {"rebootpolicy/api", "rebootpolicy/payments", "rebootpolicy/payments-eu"},
		"restart rbp/pay":                      {"rbp/payments", "rbp/payments-eu"},
		"restart rbp/api ":                     nil,
		"restart -n billing rbp/":              {"rbp/ledger"},
		"restart deployment/":                  {"deployment/web"},
		"why deployment/w":                     {"deployment/web"},
		"why chaospod/":                        nil, // forbidden
		"status rbp/api rbp/":                  {"rbp/payments", "rbp/payments-eu"},
		"why -n b":                             {"billing"},
		"fault externalservice/db ":            {"BlackHole", "Drain", "FailOver"},
		"fault extsvc/db Drain --endpoint ":    {"primary", "standby"},
		"fault extsvc/other Drain --endpoint ": nil,
		"drain extsvc/db ":                     {"primary", "standby"},
		"drain ":                               {"externalservice/"},
		"rotate-ca ":                           nil,
		"restart --dry-run ":                   {"none", "client", "server"},
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		t.Setenv("KUBECONFIG", kubeconfig)
		code, stdout, stderr := runCommand(t, args...)
		var got []string
		for completion := range strings.Lines(stdout) {
			if completion = strings.TrimSpace(completion); !strings.HasPrefix(completion, ":") {
				got = append(got, completion)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if code != 0 || !slices.Equal(got, want) {
			t.Errorf("%q completes to %q, want %q: exit code %d, %s", line, got, want, code, stderr)
		}
	}
}
