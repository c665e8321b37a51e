// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

// An update at v1alpha1 leaves the fields that only v1 has, whatever restore annotation it carries: that
// of the stored object, none, one of an object as it was before, or a forged one.
func TestAnUpdateKeepsWhatItsVersionCannotExpress(t *testing.T) {
	for file, c := range map[string]*hubspoke.Converter{
		"../externalservice/testdata/full.v1.yaml":      externalservice.New(),
		"../rebootpolicy/testdata/full.v1.yaml":         rebootpolicy.New(),
		"../chaospod/testdata/v1-selector-once.in.yaml": chaospod.New(),
		"../chaospod/testdata/v1-canary.in.yaml":        chaospod.New(),
	} {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(file)))+"/"+filepath.Base(file), func(t *testing.T) {
			stored := object(t, file)
			view := converted(t, c, stored, "v1alpha1")
			edits := 0
			for _, edited := range editsOf(view["spec"]) {
				edits++
				update := with(view, "spec", edited)
				wanted := converted(t, c, update, "v1")["spec"]
				kept, err := c.Keep(raw(t, converted(t, c, update, "v1")), raw(t, stored))
				if err != nil || kept.Spec != nil {
					t.Errorf("%s: with the annotation of the stored object, %v differ: %s, %v", raw(t, edited), kept.Fields, kept.Spec, err)
				}
				for name, annotation := range map[string]string{
					"none": "", "an old one": old(t, c, stored),
					"a forged one": `{"digest":"x","hub":{"spec":{"suspend":false,"dryRun":false,"deletionPolicy":"Orphan"}}}`,
				} {
					sent := converted(t, c, annotated(update, annotation), "v1")
					kept, err := c.Keep(raw(t, sent), raw(t, stored))
					if err != nil {
						t.Fatal(err)
					}
					got := sent["spec"]
					if kept.Spec != nil {
						if err := json.Unmarshal(kept.Spec, &got); err != nil {
							t.Fatal(err)
						}
					}
					if diff := cmp.Diff(wanted, got); diff != "" {
						t.Errorf("%s, annotation %s (-want +got):\n%s", raw(t, edited), name, diff)
					}
				}
			}
			if edits == 0 {
				t.Errorf("nothing was edited")
			}
		})
	}
}

// A saved form with the digest of its view says that nothing was edited, and is another one than that of the stored object.
func TestAForgedFormWithTheRightDigestChangesNothingThatIsStored(t *testing.T) {
	for file, c := range map[string]*hubspoke.Converter{
		"../externalservice/testdata/full.v1.yaml":      externalservice.New(),
		"../rebootpolicy/testdata/full.v1.yaml":         rebootpolicy.New(),
		"../chaospod/testdata/v1-selector-once.in.yaml": chaospod.New(),
	} {
		stored := object(t, file)
		view := converted(t, c, stored, "v1alpha1")
		var saved map[string]any
		annotations := view["metadata"].(map[string]any)["annotations"].(map[string]any)
		if err := json.Unmarshal([]byte(annotations[common.ConversionDataAnnotation].(string)), &saved); err != nil {
			t.Fatal(err)
		}
		for _, forged := range editsOf(saved["hub"].(map[string]any)["spec"]) {
			saved["hub"] = map[string]any{"spec": forged}
			updated := converted(t, c, annotated(view, string(raw(t, saved))), "v1")
			kept, err := c.Keep(raw(t, updated), raw(t, stored))
			if err != nil {
				t.Fatal(err)
			}
			got := updated["spec"]
			if kept.Spec != nil {
				got = nil
				if err := json.Unmarshal(kept.Spec, &got); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(stored["spec"], got); diff != "" {
				t.Errorf("%s, forged %s (-stored +kept):\n%s", file, raw(t, forged), diff)
			}
		}
	}
}

// old is the annotation of the object as it was before.
func old(t *testing.T, c *hubspoke.Converter, stored map[string]any) string {
	t.Helper()
	before := with(stored, "spec", with(stored["spec"].(map[string]any), "suspend", true))
	metadata := converted(t, c, before, "v1alpha1")["metadata"].(map[string]any)
	return metadata["annotations"].(map[string]any)[common.ConversionDataAnnotation].(string)
}

func annotated(o map[string]any, value string) map[string]any {
	metadata := map[string]any{"name": "a"}
	if value != "" {
		metadata["annotations"] = map[string]any{common.ConversionDataAnnotation: value}
	}
	return with(o, "metadata", metadata)
}

// editsOf returns an object with each number and text in it changed, each item left out, and each of its
// optional members.
func editsOf(value any) []map[string]any {
	var out []map[string]any
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			for _, edited := range variants(member) {
				out = append(out, with(value, name, edited))
			}
			if slices.Contains([]string{"probe", "refreshSeconds", "nextStop", "periodSeconds", "timeoutSeconds", "path", "scheme", "comment"}, name) {
				without := with(value, name, nil)
				delete(without, name)
				out = append(out, without)
			}
		}
	}
	return out
}

func variants(value any) []any {
	var out []any
	switch value := value.(type) {
	case map[string]any:
		for _, edited := range editsOf(value) {
			out = append(out, edited)
		}
	case []any:
		for i, item := range value {
			for _, edited := range variants(item) {
				list := append([]any(nil), value...)
				list[i] = edited
				out = append(out, list)
			}
			out = append(out, append(append([]any{}, value[:i]...), value[i+1:]...))
		}
	case float64:
		out = append(out, value+1)
	case string:
		out = append(out, value+"x")
	}
	return out
}

func with(o map[string]any, name string, value any) map[string]any {
	out := map[string]any{}
	for key, member := range o {
		out[key] = member
	}
	out[name] = value
	return out
}

func object(t *testing.T, file string) (o map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func raw(t *testing.T, o map[string]any) []byte {
	t.Helper()
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func converted(t *testing.T, c *hubspoke.Converter, o map[string]any, to string) (out map[string]any) {
	t.Helper()
	answer, err := c.Convert(raw(t, o), to)
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("to %s: %w", to, err))
	}
	return out
}
