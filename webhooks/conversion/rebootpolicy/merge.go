// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// merge returns the saved value with whatever differs between before and after, field by field.
// Lists and maps are taken whole.
func merge[T any](saved, before, after T) T {
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
	case out.Kind() == reflect.Struct && ours(out.Type()):
		for i := range out.NumField() {
			mergeInto(out.Field(i), saved.Field(i), before.Field(i), after.Field(i))
		}
	default:
		out.Set(after)
	}
}

// ours tells the structs whose fields mean something each by itself from values such as
// metav1.Time and intstr.IntOrString.
func ours(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() || t.Field(i).Anonymous {
			return false
		}
	}
	return t.Name() != "IntOrString"
}

// mergeNamed returns the items of after, each merged with the saved item that it continues: the
// one of its name, or, where no item came or went, the one in its place if that name is gone. The
// saved items stand in the order of before.
func mergeNamed[T any](saved, before, after []T, name func(*T) string) []T {
	var out []T
	were, are := placesOf(before, name), placesOf(after, name)
	for i := range after {
		j := find(were, name(&after[i]))
		if j < 0 && len(before) == len(after) && find(are, name(&before[i])) < 0 {
			j = i
		}
		if j < 0 || j >= len(saved) {
			out = append(out, after[i])
			continue
		}
		out = append(out, merge(saved[j], before[j], after[i]))
	}
	return out
}

// placesOf returns the index of the first item of each name: a list may be as long as a request.
func placesOf[T any](items []T, name func(*T) string) map[string]int {
	places := make(map[string]int, len(items))
	for i := range items {
		if _, has := places[name(&items[i])]; !has {
			places[name(&items[i])] = i
		}
	}
	return places
}

// find returns the index of the first item of a name, or -1.
func find(places map[string]int, name string) int {
	if i, has := places[name]; has {
		return i
	}
	return -1
}
