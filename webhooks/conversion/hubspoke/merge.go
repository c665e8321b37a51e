// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Merge returns the saved value with whatever differs between before and after, field by field.
// Lists and maps are one value.
func Merge[T any](saved, before, after T) T {
	var out T
	mergeInto(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&saved).Elem(), reflect.ValueOf(&before).Elem(), reflect.ValueOf(&after).Elem())
	return out
}

func mergeInto(out, saved, before, after reflect.Value) {
	switch {
	case equality.Semantic.DeepEqual(before.Interface(), after.Interface()):
		out.Set(saved)
	case out.Kind() == reflect.Pointer && !saved.IsNil() && !before.IsNil() && !after.IsNil():
		out.Set(reflect.New(out.Type().Elem()))
		mergeInto(out.Elem(), saved.Elem(), before.Elem(), after.Elem())
	case out.Kind() == reflect.Struct && hasIndependentFields(out.Type()):
		for i := range out.NumField() {
			mergeInto(out.Field(i), saved.Field(i), before.Field(i), after.Field(i))
		}
	default:
		out.Set(after)
	}
}

// hasIndependentFields reports whether a struct is more than one value.
func hasIndependentFields(t reflect.Type) bool {
	return t != reflect.TypeFor[metav1.Time]() && t != reflect.TypeFor[intstr.IntOrString]()
}
