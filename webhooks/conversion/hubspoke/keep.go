// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Kept is a hub object as an update at the spoke version should leave it.
type Kept struct {
	// Spec is nil where the object needs no change.
	Spec json.RawMessage
	// Saved is the restore annotation that belongs to the spec, empty for none.
	Saved string
	// Fields are those members of the spec that differ from the object's, by name.
	Fields []string
}

// Keep returns the result of an update at the spoke version of a stored object, both in their hub form: the
// fields that the spoke version has are those of the update, and all others those of the stored object. It is
// the updated object itself where the update had the restore annotation of the stored object, and another one
// where it had none, an old one or a forged one.
func (c *Converter) Keep(updated, stored []byte) (Kept, error) {
	object, view, was, before := jsonindex.NewDocument(), jsonindex.NewDocument(), jsonindex.NewDocument(), jsonindex.NewDocument()
	defer object.Release()
	defer view.Release()
	defer was.Release()
	defer before.Release()
	is, seen, err := c.view(updated, object, view, c.written)
	if err != nil {
		return Kept{}, err
	}
	_, old, err := c.view(stored, was, before, nil)
	if err != nil {
		return Kept{}, err
	}
	raw, err := c.Convert(withAnnotation(seen, common.ConversionDataAnnotation, annotation(old, common.ConversionDataAnnotation)), c.hub)
	if err != nil {
		return Kept{}, err
	}
	document := jsonindex.NewDocument()
	defer document.Release()
	kept, err := document.Read(raw)
	if err != nil {
		return Kept{}, err
	}
	spec := kept.Field("spec").Bytes()
	if spec == nil || digest(spec) == digest(is.Field("spec").Bytes()) {
		return Kept{}, nil
	}
	fields, err := differing(is.Field("spec").Bytes(), spec)
	if err != nil || len(fields) == 0 {
		return Kept{}, err
	}
	saved, _ := annotation(kept, common.V1Alpha1DataAnnotation).Text()
	return Kept{Spec: bytes.Clone(spec), Saved: saved, Fields: fields}, nil
}

// view reads a hub object, and returns it with its view by a conversion (nil for that of a stored object), without a status and without annotations that could
// leave no space for the restore annotation.
func (c *Converter) view(
	raw []byte, into, view *jsonindex.Document, toSpoke func([]byte) ([]byte, error),
) (object, spoke jsonindex.Value, err error) {
	if object, err = into.Read(raw); err != nil {
		return object, spoke, err
	}
	saved := annotation(object, common.V1Alpha1DataAnnotation)
	if !saved.Exists() || toSpoke == nil {
		toSpoke = func(raw []byte) ([]byte, error) { return c.Convert(raw, c.spoke) }
	}
	converted, err := toSpoke(withAnnotation(object, common.V1Alpha1DataAnnotation, saved))
	if err != nil {
		return object, spoke, err
	}
	spoke, err = view.Read(converted)
	return object, spoke, err
}

// withAnnotation returns an object without its status and metadata, but with one annotation if it exists.
func withAnnotation(object jsonindex.Value, name string, annotation jsonindex.Value) []byte {
	var written jsonindex.Object
	out := make([]byte, 0, len(object.Bytes()))
	for member, value := range object.Fields() {
		if string(member) != "metadata" && string(member) != "status" {
			out = append(written.Name(out, member), value.Bytes()...)
		}
	}
	out = append(written.Name(out, []byte("metadata")), '{')
	if annotation.Exists() {
		out = append(jsonindex.Quote(append(out, `"annotations":{`...), name), ':')
		out = append(append(out, annotation.Bytes()...), '}')
	}
	return written.End(append(out, '}'))
}

func annotation(object jsonindex.Value, name string) jsonindex.Value {
	return object.Field("metadata").Field("annotations").Field(name)
}

// differing returns the names of the members in which two objects differ, sorted.
func differing(a, b []byte) ([]string, error) {
	one, err := members(a)
	if err != nil {
		return nil, err
	}
	other, err := members(b)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(one)
	maps.Copy(names, other)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return equal(one[name], other[name]) }), nil
}

// members reads the members of an object; anything else has none.
func members(raw []byte) (tree, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return tree{}, nil
	}
	return parseTree(raw)
}

// IsReadable reports whether a restore annotation of a hub object has a form that clients of the spoke version can read, or
// the note of one that did not fit.
func (c *Converter) IsReadable(annotation string) bool {
	return Dropped(annotation) > 0 || c.readsSpoke(annotation)
}

// readsSpoke reports whether the type of the spoke form can decode what an annotation saves.
func readsSpoke[S any](annotation string) bool {
	saved, ok := spokeData.decode(source{annotations: map[string]string{spokeData.annotation: annotation}}, nil)
	return ok && kjson.UnmarshalCaseSensitivePreserveInts(marshal(saved.body), new(S)) == nil
}
