// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

func TestTheKindsConvertAlikeBothWays(t *testing.T) {
	for kind, c := range map[string]*hubspoke.Converter{
		"chaospod": chaospod.New(), "externalservice": externalservice.New(), "rebootpolicy": rebootpolicy.New(),
	} {
		t.Run(kind, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("..", kind, "testdata", "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no golden objects: %v", err)
			}
			fastCount, all := 0, 0
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				raw, err := yaml.YAMLToJSON(text)
				if err != nil {
					t.Fatal(err)
				}
				for _, version := range []string{"v1", "v1alpha1"} {
					all++
					fast, ok := hubspoke.Fast(c, raw, version)
					if !ok {
						continue
					}
					fastCount++
					slow, err := hubspoke.Total(c, raw, version)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(body(t, slow), body(t, fast)); diff != "" {
						t.Errorf("%s to %s (-total +fast):\n%s", file, version, diff)
					}
				}
			}
			t.Logf("%d of %d conversions were fast", fastCount, all)
		})
	}
}

// body leaves out metadata, whose restore annotations may order their content differently; that
// they mean the same is shown by the fuzz test of this package.
func body(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	delete(object, "metadata")
	return object
}

// FuzzTheKindsConvertAlikeBothWays holds the real mappings to what FuzzBothConversionsGiveTheSame asks of
// a toy, restore annotations included, and their views as well.
func FuzzTheKindsConvertAlikeBothWays(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "*", "testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden objects: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	kinds := []*hubspoke.Converter{externalservice.New(), rebootpolicy.New(), chaospod.New()}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		for _, c := range kinds {
			for _, there := range []string{"v1", "v1alpha1"} {
				view, wasFast := alike(t, c, raw, there)
				if wasFast {
					alike(t, c, view, map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[there])
				}
			}
		}
	})
}

func alike(t *testing.T, c *hubspoke.Converter, raw []byte, to string) (view []byte, wasFast bool) {
	t.Helper()
	fast, ok := hubspoke.Fast(c, raw, to)
	if !ok {
		return nil, false
	}
	slow, err := hubspoke.Total(c, raw, to)
	if err != nil {
		t.Fatalf("the fast conversion converts what the total one does not: %v: %s", err, raw)
	}
	if diff := cmp.Diff(hubspoke.Normalized(t, slow), hubspoke.Normalized(t, fast)); diff != "" {
		t.Errorf("%s to %s (-total +fast):\n%s", raw, to, diff)
	}
	return fast, true
}
