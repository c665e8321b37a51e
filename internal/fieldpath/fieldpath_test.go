// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"encoding/json"
	"strings"
	"testing"
)

const object = `{"status": {"revision": 3, "hosts": ["a", {"b": null}]}, "metadata": {"labels": {"app.kubernetes.io/version": "1.2", "x[0]": "y"}}}`

func TestAFieldIsReadByItsPath(t *testing.T) {
	var o map[string]any
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"status.revision": "3", ".status.revision": "3", "status.hosts[0]": `"a"`, "['status'].hosts[1].b": "null", "status.hosts[1]": `{"b":null}`,
		"metadata.labels['app.kubernetes.io/version']": `"1.2"`, "metadata.labels['x[0]']": `"y"`,
		"status.hosts[2]": "", "status.hosts.b": "", "status.revision.a": "", "status.revision[0]": "", "spec": "", "status[0]": "",
	} {
		p, err := Parse(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got := ""
		if value, found := p.Get(o); found {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got = string(text)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestWhatIsNoPathIsRefused(t *testing.T) {
	for path, says := range map[string]string{
		"": "no name of a field", ".": "no name", "a..b": "no name", "a.": "no name", "..a": "no name", "a[*]": "must be an index", "a[-1]": "must be an index",
		"a[1": "must be an index", "a['b": "['name']", "a['']": "['name']", "a[0]b": "a dot or [", "{.a}": "no name", "a[?(@.b==1)]": "must be an index",
		"a[99999999999]": "must be an index", "a b": "no name",
	} {
		if _, err := Parse(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", path, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("status.revision")
	f.Add("a['b'][0]")
	var o map[string]any
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err == nil && len(p.steps) == 0 {
			t.Errorf("%q has no step", text)
		}
		p.Get(o)
	})
}
