// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/config"
)

// granted are the single rights of an operator with some kinds, as it is installed by default.
func granted(t *testing.T, canaries bool, kinds ...string) map[right]bool {
	t.Helper()
	roles, err := config.Roles(config.Profile{Webhooks: true, Controllers: true, ClusterAccess: true, Kinds: kinds, Canaries: canaries})
	if err != nil {
		t.Fatal(err)
	}
	all := map[right]bool{}
	for _, rule := range roles.Cluster {
		for _, one := range singles("", rule) {
			all[one] = true
		}
	}
	for _, rule := range roles.Own {
		for _, one := range singles("fairlead-system", rule) {
			all[one] = true
		}
	}
	return all
}

// singles are the single rights of a rule.
func singles(namespace string, rule rbacv1.PolicyRule) (all []right) {
	if len(rule.ResourceNames) == 0 {
		rule.ResourceNames = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range rule.ResourceNames {
				for _, verb := range rule.Verbs {
					all = append(all, right{namespace, group, resource, name, verb})
				}
			}
		}
	}
	return all
}

// combinations are the seven ways to name kinds, the smallest first.
func combinations() (all [][]string) {
	names := options.Default().Kinds
	for bits := 1; bits < 1<<len(names); bits++ {
		var some []string
		for i, name := range names {
			if bits&(1<<i) != 0 {
				some = append(some, name)
			}
		}
		all = append(all, some)
	}
	slices.SortStableFunc(all, func(a, b []string) int { return len(a) - len(b) })
	return all
}

// writes words what a right allows to change of what users have; "" for what it does not.
func writes(r right) string {
	read := slices.Contains([]string{"get", "list", "watch"}, r.verb)
	if read || r.name != "" || r.namespace != "" || strings.HasSuffix(r.group, ".fairlead.dev") || strings.HasSuffix(r.resource, "reviews") || r.resource == "events" {
		return ""
	}
	return r.verb + " " + r.resource
}

// row is that of a combination in docs/guides/hardening.md.
func row(rights map[right]bool, kinds string) string {
	changes := map[string][]string{} // verbs by resource
	secrets := "none"
	for r := range rights {
		if verb, resource, found := strings.Cut(writes(r), " "); found {
			changes[resource] = append(changes[resource], verb)
		}
		if r.resource == "secrets" && r.verb == "get" && r.name == "" {
			secrets = "each by its name"
		}
	}
	var words []string
	for resource, verbs := range changes {
		slices.Sort(verbs)
		words = append(words, strings.Join(verbs, "/")+" `"+resource+"`")
	}
	slices.Sort(words)
	return fmt.Sprintf("| %s | %d | %s | %s |\n", kinds, len(rights), strings.Join(words, ", "), secrets)
}

// Who wants failover for a database does not grant the right to restart or to evict.
func TestHardeningHasTheRightsOfEachCombinationOfKinds(t *testing.T) {
	const file = "../docs/guides/hardening.md"
	const begin, end = "| kinds | rights | what of users it may change, in every namespace | Secrets it may read |\n| --- | --- | --- | --- |\n", "\n\n"
	var want strings.Builder
	for _, kinds := range combinations() {
		want.WriteString(row(granted(t, false, kinds...), strings.Join(kinds, ", ")))
	}
	want.WriteString(row(granted(t, true, options.Default().Kinds...), "all, with canaries"))
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(content, []byte(begin))
	table, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended {
		t.Fatalf("%s has no table of kinds", file)
	}
	if *update {
		content = slices.Concat(before, []byte(begin), []byte(strings.TrimSuffix(want.String(), "\n")), []byte(end), after)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), string(table)+"\n"); diff != "" {
		t.Errorf("%s is stale: run `make generate` (-roles +page):\n%s", file, diff)
	}
}

func TestAKindGrantsNoRightOfAnother(t *testing.T) {
	for _, kinds := range combinations() {
		rights := granted(t, false, kinds...)
		has := func(kind string) bool { return slices.Contains(kinds, kind) }
		for kind, only := range map[string][]right{
			"ExternalService": {
				{"", "", "services", "", "create"}, {"", "discovery.k8s.io", "endpointslices", "", "patch"}, {"", "", "endpoints", "", "delete"},
				{"", "networking.fairlead.dev", "externalservices", "", "list"},
				{"", "apiextensions.k8s.io", "customresourcedefinitions", "externalservices.networking.fairlead.dev", "patch"},
			},
			"RebootPolicy": {
				{"", "apps", "deployments", "", "patch"}, {"", "", "configmaps", "", "list"}, {"", "autoreboot.fairlead.dev", "rebootpolicies", "", "list"},
				{"fairlead-system", "", "secrets", "fairlead-fingerprint-key", "get"},
				{"", "apiextensions.k8s.io", "customresourcedefinitions", "rebootpolicies.autoreboot.fairlead.dev", "patch"},
			},
			"ChaosPod": {
				{"", "", "pods", "", "delete"}, {"", "chaos.fairlead.dev", "chaospods", "", "list"},
				{"", "apiextensions.k8s.io", "customresourcedefinitions", "chaospods.chaos.fairlead.dev", "patch"},
			},
		} {
			for _, one := range only {
				if rights[one] != has(kind) {
					t.Errorf("%q: may %s: %t", kinds, one, rights[one])
				}
			}
		}
		if evicts := (right{"", "", "pods/eviction", "", "create"}); rights[evicts] != (has("RebootPolicy") || has("ChaosPod")) {
			t.Errorf("%q: may %s: %t", kinds, evicts, rights[evicts])
		}
		creates := right{"", "", "pods", "", "create"}
		if rights[creates] || !granted(t, true, kinds...)[creates] {
			t.Errorf("%q: may %s without canaries: %t", kinds, creates, rights[creates])
		}
	}
}
