// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsoncodec

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestAnObjectIsWhatItWasReadFrom(t *testing.T) {
	s := Of(reflect.TypeFor[v1.ExternalService]())
	seed := time.Now().UnixNano()
	fill := filler(seed)
	for range 30 {
		var made, read v1.ExternalService
		fill.Fill(&made)
		raw, err := json.Marshal(&made)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		if !s.Equals(document(raw), reflect.ValueOf(&read).Elem()) {
			t.Fatalf("seed %d: not what it was read from: %s", seed, raw)
		}
		read.Spec.Ports = append(read.Spec.Ports, v1.ServicePort{Name: "one-more"})
		if s.Equals(document(raw), reflect.ValueOf(&read).Elem()) {
			t.Fatalf("seed %d: another port makes no difference: %s", seed, raw)
		}
	}
}

func TestAMemberIsWhatTheDocumentSays(t *testing.T) {
	s := Of(reflect.TypeFor[box]())
	yes, half := true, intstr.FromString("50%")
	noon := metav1.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	full := box{
		Lid: "a\n", Size: -7, Sides: []side{{"red"}}, Inner: &box{Size: 1}, Open: &yes, Labels: map[string]string{"a": "1", "b": "2"},
		Made: &noon, Max: &half, Notes: []string{"x"}, Extra: "y",
	}
	for name, test := range map[string]struct{ same, others []string }{
		"lid":    {[]string{`"a\n"`, `"\u0061\n"`}, []string{`"a"`, `""`, `null`, `5`}},
		"size":   {[]string{`-7`}, []string{`7`, `-7.0`, `"-7"`, `null`, `9223372036854775808`}},
		"sides":  {[]string{`[{"color":"red"}]`}, []string{`[{"color":"blue"}]`, `[]`, `null`, `[{"color":"red"},{}]`, `{}`}},
		"inner":  {[]string{`{"size":1}`}, []string{`{"size":2}`, `{}`, `null`}},
		"open":   {[]string{`true`}, []string{`false`, `null`, `"true"`}},
		"labels": {[]string{`{"a":"1","b":"2"}`, `{"b":"2","a":"\u0031"}`}, []string{`{"a":"1"}`, `{"a":"1","b":"3"}`, `{"a":"1","c":"2"}`, `{}`, `null`}},
		"made":   {[]string{`"2026-03-02T12:00:00Z"`, `"2026-03-02T13:00:00+01:00"`}, []string{`"2026-03-02T12:00:01Z"`, `null`}},
		"max":    {[]string{`"50%"`}, []string{`50`, `null`}},
		"notes":  {[]string{`["x"]`}, []string{`["y"]`, `[]`, `null`}},
		"extra":  {[]string{`"y"`}, []string{`"z"`, `null`}},
	} {
		m := s.Member(name)
		for _, raw := range test.same {
			if !m.Equals(document([]byte(raw)), reflect.ValueOf(&full).Elem()) {
				t.Errorf("%s is not %s", name, raw)
			}
		}
		for _, raw := range test.others {
			if m.Equals(document([]byte(raw)), reflect.ValueOf(&full).Elem()) {
				t.Errorf("%s is %s", name, raw)
			}
		}
	}
	for name, empty := range map[string]string{"lid": `""`, "size": `0`, "sides": `[]`, "labels": `{}`, "notes": `[]`, "open": `null`, "extra": `null`} {
		if !s.Member(name).Equals(document([]byte(empty)), reflect.ValueOf(&box{}).Elem()) {
			t.Errorf("%s is not %s where nothing is set", name, empty)
		}
	}
}

func TestWhatHasTheJSONOfNothingIsUnset(t *testing.T) {
	type crate struct {
		Box  box        `json:"box"`
		Lid  string     `json:"lid"`
		Made *time.Time `json:"made,omitempty"`
	}
	s := Of(reflect.TypeFor[crate]())
	for _, unset := range []crate{{}, {Box: box{Sides: []side{}, Labels: map[string]string{}}}} {
		if !s.IsZero(reflect.ValueOf(unset)) {
			t.Errorf("%+v is set", unset)
		}
	}
	no := false
	for _, set := range []crate{{Lid: "x"}, {Box: box{Size: 1}}, {Box: box{Open: &no}}, {Box: box{Notes: []string{}}}, {Made: &time.Time{}}} {
		if s.IsZero(reflect.ValueOf(set)) {
			t.Errorf("%+v is unset", set)
		}
	}
}
