// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAPathReadsAsThatOfAnError(t *testing.T) {
	spec := At("spec")
	labels := spec.Child("service", "labels")
	for _, test := range []struct {
		path Path
		want *field.Path
	}{
		{At("metadata", "name"), field.NewPath("metadata", "name")},
		{spec.Child("endpoints").Index(0).Child("dns", "name"), field.NewPath("spec", "endpoints").Index(0).Child("dns", "name")},
		{labels.Key("a.b/c"), field.NewPath("spec", "service", "labels").Key("a.b/c")},
		{labels.Key(""), field.NewPath("spec", "service", "labels").Key("")},
		{spec.Child("a").Index(2).Index(3), field.NewPath("spec", "a").Index(2).Index(3)},
	} {
		if got := test.path.Field().String(); got != test.want.String() {
			t.Errorf("%s instead of %s", got, test.want)
		}
	}
}

func TestAPathThatIsNotAskedForTakesNoMemory(t *testing.T) {
	values := []string{"a", "b"}
	if n := testing.AllocsPerRun(100, func() {
		spec := At("spec")
		for i, value := range values {
			at := spec.Child("values").Index(i)
			if errs := Reasons(at.Child("name"), value, validation.IsDNS1123Label); errs != nil {
				t.Error(errs)
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
