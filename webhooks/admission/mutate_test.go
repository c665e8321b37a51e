// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

func TestMutatingAddsOnlyWhatIsUnset(t *testing.T) {
	tests := map[string]struct{ object, patch string }{
		"everything": {
			toyJSON(`{"color":"red"}`),
			`[{"op":"add","path":"/spec/battery","value":{"type":"AA"}},{"op":"add","path":"/spec/size","value":3}]`,
		},
		"no spec": {
			`{"apiVersion":"toys.example.com/v1","kind":"Toy","metadata":{"name":"car"}}`,
			`[{"op":"add","path":"/spec","value":{}},{"op":"add","path":"/spec/battery","value":{"type":"AA"}},{"op":"add","path":"/spec/size","value":3}]`,
		},
		"null spec": {
			toyJSON(`null`),
			`[{"op":"replace","path":"/spec","value":{}},{"op":"add","path":"/spec/battery","value":{"type":"AA"}},{"op":"add","path":"/spec/size","value":3}]`,
		},
		"null member": {
			toyJSON(`{"color":"red","battery":null,"size":1}`),
			`[{"op":"replace","path":"/spec/battery","value":{"type":"AA"}}]`,
		},
		"items of a list": {
			toyJSON(`{"color":"red","size":1,"battery":{"type":"D"},"wheels":[{"name":"a","x":1},{"name":"b","radius":2},{"name":"c"}]}`),
			`[{"op":"add","path":"/spec/wheels/0/radius","value":7},{"op":"add","path":"/spec/wheels/2/radius","value":7}]`,
		},
		"beside unknown members": {
			toyJSON(`{"color":"red","size":1,"engine":{"hp":900719925474099312},"battery":{"brand":"x"}}`),
			`[{"op":"add","path":"/spec/battery/type","value":"AA"}]`,
		},
		"beside what the type writes in another way": {
			toyJSON(`{"color":"red","size":1,"load":"0.5","built":"2026-11-29T12:00:00+02:00"}`),
			`[{"op":"add","path":"/spec/battery","value":{"type":"AA"}}]`,
		},
		"null item": {
			toyJSON(`{"color":"red","size":1,"battery":{"type":"D"},"wheels":[null,{"name":"b","radius":2}]}`),
			`[{"op":"replace","path":"/spec/wheels/0","value":{}},{"op":"add","path":"/spec/wheels/0/radius","value":7}]`,
		},
		"empty values": {
			toyJSON(`{"color":"","size":0,"battery":{"type":"D","minutes":null},"wheels":[]}`),
			``,
		},
		"an empty value with a default": {
			toyJSON(`{"color":"red","size":1,"battery":{"type":""}}`),
			`[{"op":"replace","path":"/spec/battery/type","value":"AA"}]`,
		},
		"nothing": {toyJSON(`{"color":"red","size":1,"battery":{"type":"D"},"wheels":[],"max":"50%"}`), ``},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := answerOf(t, post(mutating(), reviewOf("CREATE", test.object, "")))
			if !got.Allowed || string(got.Patch) != test.patch {
				t.Errorf("allowed %t (%v), patch %s\nwant %s", got.Allowed, got.Result, got.Patch, test.patch)
			}
		})
	}
}

func TestAMutationAppliedOnceLeavesNothingToDo(t *testing.T) {
	object := toyJSON(`{"color":"re/d~","wheels":[{"name":"a","unknown":{"k":[1,2]}}],"more":1e400}`)
	got := answerOf(t, post(mutating(), reviewOf("UPDATE", object, object)))
	patch, err := jsonpatch.DecodePatch(got.Patch)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(applied), `"unknown":{"k":[1,2]}`) || !strings.Contains(string(applied), `"more":1e400`) {
		t.Errorf("what the user wrote is gone: %s", applied)
	}
	if again := answerOf(t, post(mutating(), reviewOf("UPDATE", string(applied), object))); len(again.Patch) != 0 {
		t.Errorf("a second time it would patch %s", again.Patch)
	}
}

func TestADefaulterTakesNothingAway(t *testing.T) {
	object := strings.Replace(toyJSON(`{"color":"red","size":1,"wheels":[{"name":"a"},{"name":"b"}]}`), `"name":"car"`,
		`"name":"car","annotations":{"mine":"1"}`, 1)
	for name, apply := range map[string]func(*toy){
		"member":      func(o *toy) { o.Spec.Size = nil },
		"item":        func(o *toy) { o.Spec.Wheels = o.Spec.Wheels[:1] },
		"list":        func(o *toy) { o.Spec.Wheels = nil },
		"annotations": func(o *toy) { o.Annotations = nil },
		"annotation":  func(o *toy) { delete(o.Annotations, "mine") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newMutating(Options{Kind: toyKind}, Mutator[*toy]{Default: apply})
			if got := answerOf(t, post(h, reviewOf("CREATE", object, ""))); !got.Allowed || got.Patch != nil {
				t.Errorf("allowed %t (%v), patch %s", got.Allowed, got.Result, got.Patch)
			}
		})
	}
}

func TestADefaulterMayReplaceAndAppend(t *testing.T) {
	h := newMutating(Options{Kind: toyKind}, Mutator[*toy]{Default: func(o *toy) {
		o.Spec.Color = "blue"
		o.Labels["a/b~c"] = "<new>"
		o.Spec.Wheels = append(o.Spec.Wheels, wheel{Name: "spare", Radius: ptr.To[int32](1)})
	}})
	object := strings.Replace(toyJSON(`{"color":"red","wheels":[{"name":"a"}]}`), `"name":"car"`, `"name":"car","labels":{"x":"y"}`, 1)
	got := answerOf(t, post(h, reviewOf("CREATE", object, "")))
	patch, err := jsonpatch.DecodePatch(got.Patch)
	if err != nil {
		t.Fatalf("%v: %+v", err, got.Result)
	}
	applied, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	var after toy
	if err := json.Unmarshal(applied, &after); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"x": "y", "a/b~c": "<new>"}
	if diff := cmp.Diff(want, after.Labels); diff != "" || after.Spec.Color != "blue" || len(after.Spec.Wheels) != 2 {
		t.Errorf("became %s", applied)
	}
}

func TestAnErrorOfAStampIsTheResponse(t *testing.T) {
	tests := map[string]struct {
		err  error
		code int32
	}{
		"any":    {errors.New("no luck"), 403},
		"status": {apierrors.NewForbidden(toyKind.GroupVersion().WithResource("toys").GroupResource(), "car", errors.New("no luck")), 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newMutating(Options{Kind: toyKind}, Mutator[*toy]{Stamp: func(context.Context, Request, *toy, *toy) (map[string]string, error) {
				return nil, test.err
			}})
			got := answerOf(t, post(h, reviewOf("CREATE", toyJSON(`{}`), "")))
			if got.Allowed || got.Result.Code != test.code || !strings.Contains(got.Result.Message, "no luck") {
				t.Errorf("answered %+v", got.Result)
			}
		})
	}
}

func TestAFinalizerIsAddedOnceAndNotToWhatIsDeleted(t *testing.T) {
	h := newMutating(Options{Kind: toyKind}, Mutator[*toy]{Finalizer: "toys.example.com/keep"})
	with := func(finalizers string) string {
		return strings.Replace(toyJSON(`{}`), `"name":"car"`, `"name":"car","finalizers":`+finalizers, 1)
	}
	for name, test := range map[string]struct{ operation, object, patch string }{
		"none":      {"CREATE", toyJSON(`{}`), `[{"op":"add","path":"/metadata/finalizers","value":["toys.example.com/keep"]}]`},
		"null":      {"CREATE", with(`null`), `[{"op":"replace","path":"/metadata/finalizers","value":["toys.example.com/keep"]}]`},
		"empty":     {"CREATE", with(`[]`), `[{"op":"replace","path":"/metadata/finalizers","value":["toys.example.com/keep"]}]`},
		"another":   {"CREATE", with(`["a/b"]`), `[{"op":"add","path":"/metadata/finalizers/-","value":"toys.example.com/keep"}]`},
		"the same":  {"CREATE", with(`["a/b","toys.example.com/keep"]`), ``},
		"an update": {"UPDATE", toyJSON(`{}`), `[{"op":"add","path":"/metadata/finalizers","value":["toys.example.com/keep"]}]`},
		"deleted":   {"UPDATE", strings.Replace(toyJSON(`{}`), `"name":"car"`, `"name":"car","deletionTimestamp":"2026-11-25T00:00:00Z"`, 1), ``},
	} {
		t.Run(name, func(t *testing.T) {
			old := ""
			if test.operation == "UPDATE" {
				old = test.object
			}
			got := answerOf(t, post(h, reviewOf(test.operation, test.object, old)))
			if !got.Allowed || string(got.Patch) != test.patch {
				t.Errorf("allowed %t (%v), patch %s\nwant %s", got.Allowed, got.Result, got.Patch, test.patch)
			}
		})
	}
}

func TestAStampReachesTheAnnotationsFromAnywhere(t *testing.T) {
	const a, b = "fairlead.dev/a", "fairlead.dev/b"
	for name, test := range map[string]struct {
		metadata string
		values   map[string]string
		want     map[string]any // the annotations afterwards; nil where nothing is to do
	}{
		"nothing to stamp":       {`{"annotations":{"fairlead.dev/a":"1"}}`, nil, nil},
		"no annotations yet":     {`{"name":"x"}`, map[string]string{a: "1", b: "2"}, map[string]any{a: "1", b: "2"}},
		"no metadata yet":        {`null`, map[string]string{a: "1"}, map[string]any{a: "1"}},
		"null annotations":       {`{"annotations":null}`, map[string]string{a: "1"}, map[string]any{a: "1"}},
		"empty annotations":      {`{"annotations":{}}`, map[string]string{a: "1"}, map[string]any{a: "1"}},
		"one more":               {`{"annotations":{"x":"2"}}`, map[string]string{a: "1"}, map[string]any{a: "1", "x": "2"}},
		"another value":          {`{"annotations":{"fairlead.dev/a":"0"}}`, map[string]string{a: `"1"`}, map[string]any{a: `"1"`}},
		"the same value":         {`{"annotations":{"fairlead.dev/a":"1"}}`, map[string]string{a: "1"}, nil},
		"removed":                {`{"annotations":{"fairlead.dev/a":"forged","x":"2"}}`, map[string]string{a: ""}, map[string]any{"x": "2"}},
		"removed, the only one":  {`{"annotations":{"fairlead.dev/a":"forged"}}`, map[string]string{a: ""}, map[string]any{}},
		"an empty one as well":   {`{"annotations":{"fairlead.dev/a":"","x":"2"}}`, map[string]string{a: ""}, map[string]any{"x": "2"}},
		"absent and to be so":    {`{"annotations":{"x":"2"}}`, map[string]string{a: ""}, nil},
		"none and none to be":    {`{}`, map[string]string{a: ""}, nil},
		"one set, one removed":   {`{"annotations":{"fairlead.dev/a":"1"}}`, map[string]string{a: "", b: "2"}, map[string]any{b: "2"}},
		"none but one to remove": {`{}`, map[string]string{a: "", b: "2"}, map[string]any{b: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newMutating(Options{Kind: toyKind}, Mutator[*toy]{Stamp: func(context.Context, Request, *toy, *toy) (map[string]string, error) {
				return test.values, nil
			}})
			object := strings.Replace(toyJSON(`{}`), `{"name":"car","namespace":"shop"}`, test.metadata, 1)
			got := answerOf(t, post(h, reviewOf("CREATE", object, "")))
			if after := annotationsAfter(t, object, got.Patch); got.Allowed && test.want == nil && after == nil {
				return
			} else if diff := cmp.Diff(any(test.want), after); diff != "" || !got.Allowed {
				t.Errorf("%s, %v (-want +got):\n%s", got.Patch, got.Result, diff)
			}
		})
	}
}

func TestAStampAndADefaultAreBothWritten(t *testing.T) {
	h := newMutating(Options{Kind: toyKind}, Mutator[*toy]{
		Default: func(o *toy) { o.Annotations = map[string]string{"color": "red"} },
		Stamp: func(context.Context, Request, *toy, *toy) (map[string]string, error) {
			return map[string]string{"fairlead.dev/approved-by": "ann"}, nil
		},
	})
	got := answerOf(t, post(h, reviewOf("CREATE", toyJSON(`{}`), "")))
	if diff := cmp.Diff(map[string]any{"color": "red", "fairlead.dev/approved-by": "ann"}, annotationsAfter(t, toyJSON(`{}`), got.Patch)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", got.Patch, diff)
	}
}

// annotationsAfter returns the annotations of an object after a patch; nil where there is no patch.
func annotationsAfter(t *testing.T, object string, encoded []byte) any {
	t.Helper()
	if encoded == nil {
		return nil
	}
	patch, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	after, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	var patched struct{ Metadata struct{ Annotations any } }
	if err := json.Unmarshal(after, &patched); err != nil {
		t.Fatal(err)
	}
	return patched.Metadata.Annotations
}
