// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

func TestAnnotateReachesTheValuesFromAnywhere(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		values map[string]string
		want   string // the annotations afterwards; "" where nothing is to do
	}{
		"nothing to stamp":       {`{"metadata":{"annotations":{"a":"1"}}}`, nil, ""},
		"no annotations yet":     {`{"metadata":{"name":"x"}}`, map[string]string{"a/b": "1", "c": "2"}, `{"a/b":"1","c":"2"}`},
		"null annotations":       {`{"metadata":{"annotations":null}}`, map[string]string{"a": "1"}, `{"a":"1"}`},
		"one more":               {`{"metadata":{"annotations":{"b":"2"}}}`, map[string]string{"a": "1"}, `{"a":"1","b":"2"}`},
		"another value":          {`{"metadata":{"annotations":{"a":"0"}}}`, map[string]string{"a": `"1"`}, `{"a":"\"1\""}`},
		"the same value":         {`{"metadata":{"annotations":{"a":"1"}}}`, map[string]string{"a": "1"}, ""},
		"taken away":             {`{"metadata":{"annotations":{"a":"forged","b":"2"}}}`, map[string]string{"a": ""}, `{"b":"2"}`},
		"an empty one as well":   {`{"metadata":{"annotations":{"a":"","b":"2"}}}`, map[string]string{"a": ""}, `{"b":"2"}`},
		"absent and to be so":    {`{"metadata":{"annotations":{"b":"2"}}}`, map[string]string{"a": ""}, ""},
		"none and none to be":    {`{"metadata":{}}`, map[string]string{"a": ""}, ""},
		"one set, one taken":     {`{"metadata":{"annotations":{"a":"1"}}}`, map[string]string{"a": "", "b": "2"}, `{"b":"2"}`},
		"none but one to remove": {`{"metadata":{}}`, map[string]string{"a": "", "b": "2"}, `{"b":"2"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatch(new(bytes.Buffer))
			p.annotate(read(t, test.object), test.values)
			encoded := p.end()
			if test.want == "" {
				if encoded != nil {
					t.Errorf("operations although nothing is to do: %s", encoded)
				}
				return
			}
			patch, err := jsonpatch.DecodePatch(encoded)
			if err != nil {
				t.Fatalf("%s: %v", encoded, err)
			}
			after, err := patch.Apply([]byte(test.object))
			if err != nil {
				t.Fatalf("%s: %v", encoded, err)
			}
			var got, want any
			var object struct{ Metadata struct{ Annotations any } }
			if err := json.Unmarshal(after, &object); err != nil {
				t.Fatal(err)
			}
			got = object.Metadata.Annotations
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", encoded, diff)
			}
		})
	}
}

// read reads JSON.
func read(t *testing.T, text string) wire.Value {
	t.Helper()
	v, err := wire.NewDocument().Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
