// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsoncodec"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// objects reads the objects of a type.
type objects[T any] struct{ shape *jsoncodec.Shape }

// objectsOf leaves managedFields out: no rule reads them, and they may be half of an object.
func objectsOf[T any]() objects[T] {
	return objects[T]{jsoncodec.Of(reflect.TypeFor[T](), reflect.TypeFor[[]metav1.ManagedFieldsEntry]())}
}

// decode reads an object into its type. Names are matched exactly, and a value of a wrong type or a
// duplicate member is an error of that field. A member that T does not know is left out: during an upgrade
// the CRD may be newer than this binary.
func (o objects[T]) decode(raw jsonindex.Value) (*T, *field.Error) {
	obj := new(T)
	if o.shape.Decode(raw, reflect.ValueOf(obj).Elem()) != jsoncodec.Unread {
		return obj, nil
	}
	// This decoder is slower, and returns what is wrong, if anything is.
	obj = new(T)
	if err := jsonv2.Unmarshal(raw.Bytes(), obj); err != nil {
		return nil, mistyped(raw.Bytes(), err)
	}
	return obj, nil
}

// stored returns the stored object of an update. One that fits no T was stored under another schema;
// to refuse the update for that would be to refuse its repair.
func (o objects[T]) stored(req request, log logr.Logger) *T {
	if req.Operation != admissionv1.Update || !req.oldObject.Exists() {
		return nil
	}
	if req.oldObject.Field("spec").Values() > maxValues {
		log.Info("The stored object has more values than are looked at; the update is checked as if it created it", "object", label(req.Request))
		return nil
	}
	old, err := o.decode(req.oldObject)
	if err != nil {
		log.Info("The stored object does not fit its type; the update is checked as if it created it",
			"object", label(req.Request), "reason", err.Error())
		return nil
	}
	return old
}

// mistyped returns the error of the field that is wrong.
func mistyped(raw []byte, err error) *field.Error {
	var (
		semantic  *jsonv2.SemanticError
		syntactic *jsontext.SyntacticError
	)
	switch {
	case errors.As(err, &semantic):
		shown := kindNames[semantic.JSONKind]
		if len(semantic.JSONValue) > 0 {
			shown = string(semantic.JSONValue)
		}
		return short(field.TypeInvalid(fieldPath(raw, semantic.JSONPointer), shown, wanted(semantic)))
	case errors.As(err, &syntactic):
		return field.Invalid(fieldPath(raw, syntactic.JSONPointer), "", syntactic.Err.Error())
	}
	return field.Invalid(nil, "", err.Error())
}

var kindNames = map[jsontext.Kind]string{
	jsontext.KindNull:        "null",
	jsontext.KindTrue:        "true",
	jsontext.KindFalse:       "false",
	jsontext.KindString:      "string",
	jsontext.KindNumber:      "number",
	jsontext.KindBeginObject: "object",
	jsontext.KindBeginArray:  "list",
}

// wanted describes the type that a field has.
func wanted(err *jsonv2.SemanticError) string {
	name := ""
	if err.GoType != nil {
		name = jsonName(err.GoType)
	}
	switch {
	case name != "" && err.Err != nil:
		return fmt.Sprintf("must be %s: %v", name, err.Err)
	case name != "":
		return "must be " + name
	case err.Err != nil:
		return err.Err.Error()
	}
	return "is of the wrong type"
}

var jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()

// jsonName is what a Go type is called in a manifest; "" where only the type itself knows.
func jsonName(t reflect.Type) string {
	if t.Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(jsonUnmarshaler) {
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		return jsonName(t.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return ""
}

// fieldPath writes a JSON pointer as kubectl users know paths: spec.endpoints[0].port. The document decides
// whether a number is an index or a key.
func fieldPath(raw []byte, pointer jsontext.Pointer) *field.Path {
	var (
		document any
		path     *field.Path
	)
	// The document was read as JSON already; should it not be, numbers are taken as keys.
	_ = json.Unmarshal(raw, &document)
	for token := range pointer.Tokens() {
		switch at := document.(type) {
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(at) {
				return path
			}
			path, document = path.Index(index), at[index]
			continue
		case map[string]any:
			document = at[token]
		}
		if path != nil && strings.ContainsAny(token, "./") {
			path = path.Key(token)
		} else {
			path = path.Child(token)
		}
	}
	return path
}
