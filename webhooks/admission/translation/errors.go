// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Error returns an error of a v1 field as the author of the object knows it. Where v1alpha1 has no such
// field, the message names the one of v1.
func (o *Object) Error(err *field.Error) *field.Error {
	own, at := o.Own(err)
	if !at.Exact() {
		own.Detail = strings.TrimPrefix(own.Detail+" ("+aside(at, err.BadValue)+")", " ")
	}
	return own
}

// Own is Error without the name of the field of v1, which it returns by itself.
func (o *Object) Own(err *field.Error) (*field.Error, Field) {
	own := *err
	if own.Field == "<nil>" {
		return &own, Field{}
	}
	at := o.Field(err.Field)
	if at.Path == "spec.target" && err.Detail == eitherName {
		at.Path = "spec.target.name" // the only way to name it
	}
	own.Field, own.Detail, own.BadValue = at.Path, o.Words(err.Detail), o.value(at, err)
	return &own, at
}

// Warning returns a warning, which begins with the path of a v1 field, as the author of the object
// knows it.
func (o *Object) Warning(warning string) string {
	path, said, ok := strings.Cut(warning, ": ")
	if written, alpha := strings.CutPrefix(path, Version+" "); alpha && ok {
		return written + ": " + said // of what conversion keeps for v1alpha1
	}
	if !ok || strings.Contains(path, " ") {
		return warning
	}
	at := o.Field(path)
	said = at.Path + ": " + o.Words(said)
	if !at.Exact() {
		said += " (" + aside(at, nil) + ")"
	}
	return said
}

// aside returns which field of v1 is meant, with its value, and where to set it.
func aside(at Field, value any) string {
	is := ""
	if text, isText := textOf(value); isText && text != "" {
		is = fmt.Sprintf(", which is %q", text)
	}
	return fmt.Sprintf("%s of v1%s: %s cannot express it and keeps it in annotation %s, so set it at v1",
		at.Stored, is, Version, common.ConversionDataAnnotation)
}

// value returns what the author wrote in the place of the value that an error of v1 shows.
func (o *Object) value(at Field, err *field.Error) any {
	text, isText := textOf(err.BadValue)
	switch value, there := find(o.view, at.Path); {
	case isText && (at.Path == "spec.ports."+text || at.Path == "spec.ports["+text+"]"):
		return text // the key to the left of a value
	case !at.Exact():
		return field.OmitValueType{}
	case o.view == nil:
		return err.BadValue
	case !there || value == nil:
		return field.OmitValueType{}
	case isText && foreign(value, text):
		return err.BadValue // what is refused was restored from the annotation, and says so itself
	case scalar(value):
		return value
	case isText && !keyed(value, text):
		return field.OmitValueType{} // it summed up what v1 has there
	}
	return err.BadValue // such as the length of a list
}

// foreign reports whether a text is no form of what the author wrote.
func foreign(value any, text string) bool {
	written, is := value.(string)
	return is && !strings.Contains(written, text) && !strings.Contains(text, written)
}

// textOf returns a text, also of a type of its own.
func textOf(value any) (string, bool) {
	if v := reflect.ValueOf(value); v.Kind() == reflect.String {
		return v.String(), true
	}
	return "", false
}

// keyed reports whether a text is the key of a map, which errors of labels show.
func keyed(value any, text string) bool {
	object, _ := value.(map[string]any)
	_, has := object[text]
	return has
}

func scalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
