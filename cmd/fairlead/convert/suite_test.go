// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// toy has in "old" at v1alpha1 what it has in "new" at v1. The versions differ in nothing else.
type toy struct{}

const annotation = "example.com/restore"

func (toy) Convert(raw []byte, toVersion string) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	spec, _ := object["spec"].(map[string]any)
	switch spec["old"] {
	case "panic":
		panic("a bug") //nolint:forbidigo // what the caller must survive
	case "fail":
		return nil, errors.New("cannot be said")
	case "other":
		return []byte(`{"apiVersion": "v1", "kind": "Toy"}`), nil
	}
	from, to := "old", "new"
	if toVersion == "v1alpha1" {
		from, to = to, from
	}
	if value, has := spec[from]; has {
		delete(spec, from)
		spec[to] = value
	}
	object["apiVersion"] = "toys.example.com/" + toVersion
	if object["metadata"] == nil {
		object["metadata"] = map[string]any{}
	}
	if object["status"] == nil {
		object["status"] = map[string]any{}
	}
	if metadata := object["metadata"].(map[string]any); metadata["name"] == "lossy" {
		metadata["annotations"] = map[string]any{annotation: "x"}
	}
	return json.Marshal(object)
}

func (toy) RestoreBytes(raw []byte, _ string) (int, error) {
	return strings.Count(string(raw), "#"), nil
}

type toyType struct {
	Spec struct {
		New  string `json:"new"`
		Last string `json:"last"`
	} `json:"spec"`
}

func toys() []Kind {
	of := reflect.TypeFor[toyType]()
	return []Kind{
		{Group: "toys.example.com", Kind: "Toy", Converter: toy{}, Types: map[string]reflect.Type{"v1": of, "v1alpha1": of}},
		{Group: "toys.example.com", Kind: "Elder", Converter: toy{}, Types: map[string]reflect.Type{"v1alpha1": of, "v0": of}},
	}
}

func newToys(t *testing.T, o Options) *Conversion {
	t.Helper()
	o.Kinds, o.Annotations = toys(), []string{annotation}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
