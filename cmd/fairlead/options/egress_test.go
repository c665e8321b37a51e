// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryRuleOfEgressRefusesWithThePathOfTheField(t *testing.T) {
	rule := func(cidrs ...string) []EgressRule { return []EgressRule{{CIDRs: cidrs}} }
	many := func(n int) (cidrs []string) {
		for range n {
			cidrs = append(cidrs, "192.0.2.0/24")
		}
		return cidrs
	}
	for path, change := range map[string]func(*Egress){
		"egress.default": func(e *Egress) { e.Default = "allow" },
		"egress.default: Unsupported value: \"\"":           func(e *Egress) { e.Default = "" },
		"egress.clusterRanges":                              func(e *Egress) { e.ClusterRanges = "Allow" },
		"egress.allow[0].cidrs: Required":                   func(e *Egress) { e.Allow = []EgressRule{{Ports: []int{443}}} },
		"egress.allow[0].cidrs[1]: Invalid":                 func(e *Egress) { e.Allow = rule("192.0.2.0/24", "192.0.2.1") },
		"did you mean 10.0.0.0/8":                           func(e *Egress) { e.Allow = rule("10.1.2.3/8") },
		"must be written as IPv4":                           func(e *Egress) { e.Deny = rule("::ffff:10.0.0.0/104") },
		"egress.deny[0].cidrs[0]":                           func(e *Egress) { e.Deny = rule("example.com") },
		"egress.deny[1].ports[0]":                           func(e *Egress) { e.Deny = append(rule("::/0"), EgressRule{CIDRs: many(1), Ports: []int{0}}) },
		"egress.deny[0].ports[1]":                           func(e *Egress) { e.Deny = []EgressRule{{CIDRs: many(1), Ports: []int{1, 65536}}} },
		"egress.allow[0].ports: Too many: 257":              func(e *Egress) { e.Allow = []EgressRule{{CIDRs: many(1), Ports: slices257(443)}} },
		"egress.allow[0].namespaces[0]":                     func(e *Egress) { e.Allow = []EgressRule{{CIDRs: many(1), Namespaces: []string{"team-*"}}} },
		"egress.allow[0].namespaces: Too many: 257":         func(e *Egress) { e.Allow = []EgressRule{{CIDRs: many(1), Namespaces: slices257("a")}} },
		"egress.allow: Too many: 1025: must have at most":   func(e *Egress) { e.Allow = rule(many(1025)...) },
		"egress.deny: Too many: 257":                        func(e *Egress) { e.Deny = slices257(EgressRule{CIDRs: many(1)}) },
		"egress.clusterCIDRs[1]":                            func(e *Egress) { e.ClusterCIDRs = []string{"10.244.0.0/16", "10.244.0.0"} },
		"egress.clusterCIDRs[0]: Invalid value: \"::/0\"":   func(e *Egress) { e.ClusterCIDRs = []string{"::/0"} },
		"egress.clusterCIDRs: Too many: 1025: must have at": func(e *Egress) { e.ClusterCIDRs = many(1025) },
	} {
		t.Run(path, func(t *testing.T) {
			configuration := Default()
			change(&configuration.Egress)
			errs := configuration.Validate()
			if len(errs) != 1 {
				t.Fatalf("%d errors, want 1: %v", len(errs), errs)
			}
			if !strings.Contains(errs[0].Error(), path) {
				t.Errorf("%q does not say %q", errs[0], path)
			}
		})
	}
}

func slices257[T any](item T) []T {
	items := make([]T, 257)
	for i := range items {
		items[i] = item
	}
	return items
}

func TestAnEgressPolicyIsReadFromTheFile(t *testing.T) {
	got, err := Parse("c.yaml", []byte(header+`egress:
  default: Deny
  allow:
  - cidrs: [192.0.2.0/24, "2001:db8::/32"]
    ports: [443, 5432]
    namespaces: [shop]
  deny:
  - cidrs: [192.0.2.66/32]
  clusterCIDRs: [10.244.0.0/16]
  clusterRanges: Deny
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Egress = Egress{
		Default:       EgressDeny,
		Allow:         []EgressRule{{CIDRs: []string{"192.0.2.0/24", "2001:db8::/32"}, Ports: []int{443, 5432}, Namespaces: []string{"shop"}}},
		Deny:          []EgressRule{{CIDRs: []string{"192.0.2.66/32"}}},
		ClusterCIDRs:  []string{"10.244.0.0/16"},
		ClusterRanges: EgressDeny,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if errs := got.Validate(); len(errs) > 0 {
		t.Errorf("a good file is refused: %v", errs)
	}
}

func TestPrefixesAreValuesOrAnError(t *testing.T) {
	got, err := Prefixes([]string{"192.0.2.0/24", "::/0"})
	if err != nil || len(got) != 2 || got[0].String() != "192.0.2.0/24" || got[1].String() != "::/0" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Prefixes([]string{"192.0.2.0"}); err == nil {
		t.Error("an address is no CIDR")
	}
}
