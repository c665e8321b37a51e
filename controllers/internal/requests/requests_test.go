// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

const annotation = "example.com/now"

// with returns an object with a value of the annotation; "-" means no annotation.
func with(value string) metav1.Object {
	object := &metav1.ObjectMeta{}
	if value != "-" {
		object.Annotations = map[string]string{annotation: value}
	}
	return object
}

func TestEachValueOtherThanTheOneHandledLastIsOneRequest(t *testing.T) {
	handled := common.Token("")
	for i, step := range []struct {
		value string
		new   common.Token
	}{
		{"-", ""},
		{"a", "a"},
		{"a", ""}, // applied again
		{"-", ""},
		{"a", ""}, // removed, and set again
		{"b", "b"},
		{"a", "a"},
		{"", ""},
		{strings.Repeat("ä", 256), common.Token(strings.Repeat("ä", 256))},
		{strings.Repeat("ä", 257), ""}, // no token, which admission refuses
		{"a\nb", ""},
		{"2026-03-02T14:00:00Z", "2026-03-02T14:00:00Z"},
	} {
		if got := New(with(step.value), annotation, handled); got != step.new {
			t.Errorf("step %d: %q requests %q, want %q", i, step.value, got, step.new)
		}
		handled = Handle(with(step.value), annotation, handled)
		if got := New(with(step.value), annotation, handled); got != "" {
			t.Errorf("step %d: %q is requested again", i, got)
		}
	}
}

func TestTheRemedyOfAHaltSaysWhyTheValueEndsNone(t *testing.T) {
	const remedy = "to go on, change the spec, or set the annotation " + annotation + " to a new value"
	for value, want := range map[string]string{
		"-": remedy, "a": remedy + `; its value "a" was set before the halt`, "a\n": remedy,
		strings.Repeat("a", 256): remedy + `; its value "` + strings.Repeat("a", 64) + `" was set before the halt`,
	} {
		object := with(value)
		if got := HaltRemedy(object, annotation, Handle(object, annotation, "former")); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}
