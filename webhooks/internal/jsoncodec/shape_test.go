// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncodec

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// filler makes objects at random. It leaves out the status of the other version: raw JSON is not read
// here, so that objects that carry it are left to encoding/json.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 3).MaxDepth(12).SkipFieldsWithPattern(carried).Funcs(
		func(x *metav1.Time, c randfill.Continue) { x.Time = time.Unix(int64(c.Int31()), 0) },
		func(x *metav1.MicroTime, c randfill.Continue) { x.Time = time.Unix(int64(c.Int31()), 0) },
		func(x *resource.Quantity, _ randfill.Continue) { *x = resource.MustParse("1Gi") },
		func(x *metav1.FieldsV1, _ randfill.Continue) { *x = *metav1.NewFieldsV1(`7`) },
		func(x *intstr.IntOrString, c randfill.Continue) { *x = intstr.FromInt32(c.Int31()) },
	)
}

// carried are the members of a status that hold the status of the other version.
var carried = regexp.MustCompile(`^V1(Alpha1)?$`)

// document reads JSON; of anything else it returns no value.
func document(raw []byte) jsonindex.Value {
	v, err := jsonindex.NewDocument().Read(raw)
	if err != nil {
		return jsonindex.Value{}
	}
	return v
}

// likeEncodingJSON reads and writes objects at random, as encoding/json does.
func likeEncodingJSON[T any](t *testing.T) {
	t.Helper()
	s := Of(reflect.TypeFor[T]())
	seed := time.Now().UnixNano()
	fill := filler(seed)
	for range 30 {
		var made, want, got T
		fill.Fill(&made)
		raw, err := json.Marshal(&made)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if s.Decode(document(raw), reflect.ValueOf(&got).Elem()) == Unread {
			t.Fatalf("seed %d: not read: %s", seed, raw)
		}
		if diff := cmp.Diff(&want, &got); diff != "" {
			t.Fatalf("seed %d: read otherwise (-want +got):\n%s\n%s", seed, diff, raw)
		}
		if !s.Same(reflect.ValueOf(&want).Elem(), reflect.ValueOf(&got).Elem()) {
			t.Fatalf("seed %d: not the same as itself: %s", seed, raw)
		}
		written, err := s.Append(nil, reflect.ValueOf(&want).Elem())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(meaning(t, raw), meaning(t, written)); diff != "" {
			t.Fatalf("seed %d: written otherwise (-want +got):\n%s", seed, diff)
		}
	}
}

func TestObjectsAreReadAndWrittenAsEncodingJSONDoes(t *testing.T) {
	t.Run("v1", likeEncodingJSON[v1.ExternalService])
	t.Run("v1alpha1", likeEncodingJSON[v1alpha1.ExternalService])
	t.Run("pod", likeEncodingJSON[corev1.PodSpec])
}

// meaning is a value without nulls.
func meaning(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return withoutNulls(value)
}

func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if member == nil {
				delete(value, name)
				continue
			}
			value[name] = withoutNulls(member)
		}
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	}
	return value
}

// covers reports whether written contains all that raw contains.
func covers(written, raw any) bool {
	switch raw := raw.(type) {
	case map[string]any:
		object, ok := written.(map[string]any)
		for name, member := range raw {
			ok = ok && covers(object[name], member)
		}
		return ok
	case []any:
		list, ok := written.([]any)
		ok = ok && len(list) == len(raw)
		for i, item := range raw {
			ok = ok && covers(list[i], item)
		}
		return ok
	}
	return cmp.Equal(written, raw)
}

type box struct {
	Lid    string              `json:"lid,omitempty"`
	Size   int32               `json:"size"`
	Sides  []side              `json:"sides,omitempty"`
	Inner  *box                `json:"inner,omitempty"`
	Open   *bool               `json:"open,omitempty"`
	Labels map[string]string   `json:"labels,omitempty"`
	Made   *metav1.Time        `json:"made,omitempty"`
	Max    *intstr.IntOrString `json:"max,omitempty"`
	Notes  []string            `json:"notes"`
	Extra  any                 `json:"extra,omitempty"`
	Front  side                `json:"front,omitzero"`
	Sold   metav1.Time         `json:"sold,omitzero"`
}

type side struct {
	Color string `json:"color"`
}

func TestAnObjectIsReadExactlyWhereItWouldBeWrittenSo(t *testing.T) {
	s := Of(reflect.TypeFor[box]())
	for raw, want := range map[string]Reading{
		`{}`: Exact, ` { "size" : 1 , "lid" : "a\u0062" } `: Exact, `{"lid":null,"notes":null}`: Exact, `{"notes":[]}`: Exact,
		`{"inner":{"size":2},"sides":[{"color":""}],"labels":{"a":"b"},"max":"5%","made":"2026-03-02T09:00:00Z"}`: Exact,
		`{"lid":""}`: Read, `{"front":{}}`: Read, `{"front":{"color":""}}`: Read, `{"sold":"0001-01-01T00:00:00Z"}`: Read,
		`{"front":{"color":"red"},"sold":"2026-03-02T09:00:00Z"}`: Exact, `{"size":-0}`: Read, `{"sides":[]}`: Read, `{"labels":{}}`: Read, `{"made":"2026-03-02T09:00:00.5Z"}`: Read, `{"made":"0001-01-01T00:00:00Z"}`: Read,
		`{"made":"2026-03-02T9:00:00.5Z"}`: Read, `{"made":"2026-03-02T09:00:00+00:00"}`: Read,
		`{"size":1,"size":1}`: Unread, `{"Size":1}`: Unread, `{"more":1}`: Unread, `{"size":1.0}`: Unread, `{"size":"1"}`: Unread,
		`{"size":3000000000}`: Unread, `{"sides":[null]}`: Unread, `{"labels":{"a":null}}`: Unread, `{"labels":{"a":"b","a":"b"}}`: Unread,
		`{"sides":{}}`: Unread, `{"inner":[]}`: Unread, `{"open":1}`: Unread, `{"made":"soon"}`: Unread, `{"max":{}}`: Unread, `{"extra":1}`: Unread,
		`[]`: Unread, `null`: Unread, ``: Unread,
	} {
		var got box
		if reading := s.Decode(document([]byte(raw)), reflect.ValueOf(&got).Elem()); reading != want {
			t.Errorf("%s: %d instead of %d", raw, reading, want)
		}
	}
}

func TestASkippedMemberIsLeftOut(t *testing.T) {
	s := Of(reflect.TypeFor[box](), reflect.TypeFor[[]side]())
	var got box
	if s.Decode(document([]byte(`{"sides":[{"color":1}],"size":2}`)), reflect.ValueOf(&got).Elem()) == Unread || got.Sides != nil || got.Size != 2 {
		t.Errorf("read %+v", got)
	}
}

// FuzzDecode feeds any JSON: what is read, another decoder reads alike, and what is read exactly
// is written as it stood there.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"size":1,"inner":{"sides":[{"color":"a"},{}],"open":true},"labels":{"x":"\u00e4"},"notes":["\\"]}`,
		`{"lid":"","size":-0,"made":"2026-03-02T09:00:00+01:00","max":5}`, `{"size":1e2}`, `{"notes":[null]}`, `{"labels":{"a":"1","\u0061":"2"}}`,
	} {
		f.Add([]byte(seed))
	}
	s := Of(reflect.TypeFor[box]())
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got, want box
		reading := s.Decode(document(raw), reflect.ValueOf(&got).Elem())
		if !json.Valid(raw) || !utf8.Valid(raw) || reading == Unread {
			return
		}
		if err := jsonv2.Unmarshal(raw, &want, jsonv2.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s was read, although %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s was read otherwise (-want +got):\n%s", raw, diff)
		}
		written, err := s.Append(nil, reflect.ValueOf(&got).Elem())
		if err != nil {
			t.Fatal(err)
		}
		if reading == Exact && !covers(meaning(t, written), meaning(t, raw)) {
			t.Fatalf("%s was read as exact and written as %s", raw, written)
		}
	})
}
