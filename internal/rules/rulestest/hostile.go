// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/randfill"
)

const (
	// many is how many items a spec can have at most in a request that a webhook reads.
	many = 32_000
	// most bounds the time of the rules for such a spec on a slow machine. A quadratic loop takes minutes.
	most = 10 * time.Second
)

// Hostile calls the rules of a kind with objects that the API server refuses. Any field is absent or has any value. One
// list of a full object, or all outermost lists, are as long as a request allows. The rules must return in time and
// without a panic.
func Hostile[T any](t *testing.T, full func() *T, rules func(obj *T)) {
	t.Helper()
	random := randfill.NewWithSeed(1).NilChance(0.4).NumElements(0, 3).MaxDepth(20)
	for range 1000 {
		obj := new(T)
		random.Fill(reflect.ValueOf(obj).Elem().FieldByName("Spec").Addr().Interface())
		rules(obj)
	}
	var outermost []string
	for path := range listsOf(full()) {
		if !strings.Contains(strings.TrimPrefix(path, "spec."), ".") {
			outermost = append(outermost, path)
		}
		takes(t, full(), rules, many, path)
	}
	takes(t, full(), rules, many/max(1, len(outermost)), outermost...)
}

// takes fails the test if the rules take too long for an object whose lists at these paths have n items.
func takes[T any](t *testing.T, obj *T, rules func(obj *T), n int, paths ...string) {
	t.Helper()
	for path, list := range listsOf(obj) {
		if slices.Contains(paths, path) {
			grow(list, n)
		}
	}
	began := time.Now()
	rules(obj)
	if took := time.Since(began); took > most {
		t.Errorf("%d items in each of %v took %s", n, paths, took)
	}
}

// grow makes a list longer with copies of its items.
func grow(list reflect.Value, n int) {
	longer := reflect.MakeSlice(list.Type(), n, n)
	for i := range n {
		longer.Index(i).Set(list.Index(i % list.Len()))
	}
	list.Set(longer)
}

// listsOf returns the non-empty lists of an object's spec by path. For lists within items, it returns that of the first
// item.
func listsOf[T any](obj *T) map[string]reflect.Value {
	lists := map[string]reflect.Value{}
	var visit func(path string, value reflect.Value)
	visit = func(path string, value reflect.Value) {
		switch {
		case !value.CanSet():
		case value.Kind() == reflect.Pointer && !value.IsNil():
			visit(path, value.Elem())
		case value.Kind() == reflect.Struct:
			for i := range value.NumField() {
				field := value.Type().Field(i)
				if field.Anonymous {
					visit(path, value.Field(i)) // an inlined struct has the path of its parent, as in JSON
				} else {
					visit(path+"."+field.Name, value.Field(i))
				}
			}
		case value.Kind() == reflect.Slice && value.Len() > 0:
			if _, known := lists[path]; !known {
				lists[path] = value
			}
			for i := range value.Len() {
				visit(path, value.Index(i))
			}
		}
	}
	visit("spec", reflect.ValueOf(obj).Elem().FieldByName("Spec"))
	return lists
}
