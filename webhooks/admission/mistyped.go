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
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mistyped says which field is wrong, and how.
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

// fieldPath writes a JSON pointer as kubectl users know paths: spec.endpoints[0].port. Whether a
// number is an index or a key, the document says.
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
