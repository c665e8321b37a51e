// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/references"
)

// ignored are the places that look like references and do not count, with why.
var ignored = map[string]string{
	"ImagePullSecrets[]":                                                      "read at each pull",
	"Volumes[].VolumeSource.CephFS.SecretFile":                                "a file of the node",
	"Volumes[].VolumeSource.Ephemeral.VolumeClaimTemplate.Spec.DataSource":    "a snapshot or another claim",
	"Volumes[].VolumeSource.Ephemeral.VolumeClaimTemplate.Spec.DataSourceRef": "a snapshot or another claim",
}

// TestEveryPlaceOfAPodIsKnown walks the type of a pod's spec. A place that appears in a later version
// of Kubernetes must be followed, or ignored above with a reason.
func TestEveryPlaceOfAPodIsKnown(t *testing.T) {
	var places []place
	walk(reflect.TypeFor[corev1.PodSpec](), nil, "", map[reflect.Type]bool{}, &places)
	if len(places) < 25 {
		t.Fatalf("found only %d places: does the walk still see them?", len(places))
	}
	left := map[string]bool{}
	for path := range ignored {
		left[path] = true
	}
	for _, p := range places {
		template := &corev1.PodTemplateSpec{}
		p.set(reflect.ValueOf(&template.Spec).Elem(), "the-name")
		found := references.Of(template)
		if why, ok := ignored[p.path]; ok {
			delete(left, p.path)
			if len(found) != 0 {
				t.Errorf("%s is followed, and should not be: %s", p.path, why)
			}
			continue
		}
		if len(found) != 1 || found[0].Name != "the-name" {
			t.Errorf("%s refers to a ConfigMap or Secret and is not followed: found %v", p.path, found)
			continue
		}
		if kind := string(found[0].Kind); !strings.Contains(p.path, kind) && !strings.Contains(p.leaf.Name(), kind) {
			t.Errorf("%s is followed to a %s", p.path, kind)
		}
	}
	for path := range left {
		t.Errorf("%s is ignored, and there is no such place", path)
	}
}

// place is a way through fields to what holds the name of an object.
type place struct {
	path  string
	steps []int
	leaf  reflect.Type
}

// walk finds the places beneath a type. A step is the index of a field; pointers and lists are gone
// through without one.
func walk(typ reflect.Type, steps []int, path string, above map[reflect.Type]bool, places *[]place) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		if typ.Kind() == reflect.Slice {
			path += "[]"
		}
		typ = typ.Elem()
	}
	if refers(typ) {
		*places = append(*places, place{path, steps, typ})
		return
	}
	if typ.Kind() != reflect.Struct || above[typ] {
		return
	}
	above[typ] = true
	defer delete(above, typ)
	for i := range typ.NumField() {
		field := typ.Field(i)
		if field.Name == "EphemeralContainers" || !field.IsExported() {
			continue // no template has any
		}
		next := strings.TrimPrefix(path+"."+field.Name, ".")
		through := append(append([]int(nil), steps...), i)
		if field.Type.Kind() == reflect.String && mentions(field.Name) {
			*places = append(*places, place{next, through, field.Type})
			continue
		}
		walk(field.Type, through, next, above, places)
	}
}

// refers reports whether a type names an object, or one that is nothing but a ConfigMap or Secret.
func refers(typ reflect.Type) bool {
	if typ.Kind() != reflect.Struct {
		return false
	}
	return strings.HasSuffix(typ.Name(), "ObjectReference") || typ.Name() == "SecretReference" || mentions(typ.Name())
}

func mentions(name string) bool {
	return strings.Contains(name, "Secret") || strings.Contains(name, "ConfigMap")
}

// set makes the place refer to a name.
func (p place) set(value reflect.Value, name string) {
	for _, step := range p.steps {
		value = within(value).Field(step)
	}
	value = within(value)
	if value.Kind() == reflect.String {
		value.SetString(name)
		return
	}
	for _, field := range []string{"Name", "SecretName", "ConfigMapName"} {
		if at := value.FieldByName(field); at.IsValid() {
			at.SetString(name)
		}
	}
}

// within makes pointers and lists hold something, and goes in.
func within(value reflect.Value) reflect.Value {
	for {
		switch value.Kind() {
		case reflect.Pointer:
			if value.IsNil() {
				value.Set(reflect.New(value.Type().Elem()))
			}
			value = value.Elem()
		case reflect.Slice:
			if value.Len() == 0 {
				value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			}
			value = value.Index(0)
		default:
			return value
		}
	}
}
