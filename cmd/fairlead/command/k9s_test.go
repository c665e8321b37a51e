// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/request"
)

// k9sPlugins are what k9s reads, strictly.
type k9sPlugins struct {
	Plugins map[string]struct {
		ShortCut    string   `json:"shortCut"`
		Description string   `json:"description"`
		Scopes      []string `json:"scopes"`
		Confirm     bool     `json:"confirm"`
		Dangerous   bool     `json:"dangerous"`
		Command     string   `json:"command"`
		Background  bool     `json:"background"`
		Args        []string `json:"args"`
	} `json:"plugins"`
}

func TestThePluginsOfK9sCallEachVerbOfEachKind(t *testing.T) {
	raw, err := os.ReadFile(top + "config/k9s/plugins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all k9sPlugins
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, kind := range inspect.ExplainedNames() {
		wanted["why "+kind] = true
	}
	for _, kind := range inspect.KindNames() {
		wanted["status "+kind] = true
	}
	for _, v := range verbs {
		for _, argument := range request.Kinds(v.name) {
			wanted[v.name+" "+strings.TrimSuffix(argument, "/NAME")] = true
		}
	}
	call, keys := regexp.MustCompile(`^kubectl fairlead (\w+) (\w+)/\$NAME((?: \S+?)*?)( -n \$NAMESPACE)? --context '\$CONTEXT' 2>&1 \| less -K$`), map[string]bool{}
	for name, p := range all.Plugins {
		if p.Description == "" || p.Command != "sh" || p.Background || len(p.Scopes) != 1 || len(p.Args) != 2 || p.Args[0] != "-c" {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		found := call.FindStringSubmatch(p.Args[1])
		if found == nil {
			t.Errorf("%s calls %q", name, p.Args[1])
			continue
		}
		verb, kind, rest := found[1], found[2], found[3]
		if hasNamespace := kind != "clusterrebootpolicy"; hasNamespace != (found[4] != "") {
			t.Errorf("%s: it names a namespace: %t", name, !hasNamespace)
		}
		if err := refused(verb + " " + kind + "/a" + rest + " -n b --context c"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if parsed, known := inspect.ParseKind(kind); !known || inspect.Resource(parsed).Resource != p.Scopes[0] {
			t.Errorf("%s is offered for %s", name, p.Scopes[0])
		}
		if isRead := slices.Contains([]string{"why", "status"}, verb); p.Confirm == isRead || p.Dangerous != (verb == inspect.VerbFault) {
			t.Errorf("%s: it confirms: %t, as dangerous: %t", name, p.Confirm, p.Dangerous)
		}
		if key := p.Scopes[0] + " " + p.ShortCut; keys[key] || !strings.HasPrefix(p.ShortCut, "Shift-") {
			t.Errorf("%s: the key %s is taken", name, key)
		} else {
			keys[key] = true
		}
		if !wanted[verb+" "+kind] {
			t.Errorf("%s is no verb of the kind", name)
		}
		delete(wanted, verb+" "+kind)
	}
	for line := range wanted {
		t.Errorf("there is no plugin for %s", line)
	}
}
