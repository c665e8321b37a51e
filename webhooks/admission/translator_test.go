// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// elder wrote an object at a version where everything stands in "old".
type elder struct{ version, object string }

func (e elder) Error(err *field.Error) *field.Error {
	own := *err
	own.Field = strings.Replace(err.Field, "spec", "old", 1)
	own.Detail = fmt.Sprintf("%s (%s %t)", err.Detail, e.version, strings.Contains(e.object, `"wheels"`) || strings.Contains(e.object, `"size"`))
	return &own
}

func (e elder) Warning(text string) string { return strings.Replace(text, "spec", "old", 1) }

// writtenKind is what a review says of the version that was written.
const writtenKind = `"requestKind":{"group":"toys.example.com","version":"v1alpha1","kind":"Toy"},`

// writtenAt is a review of an object that was written at a version.
func writtenAt(group, version, object string) string {
	return strings.Replace(reviewOf("CREATE", object, ""), writtenKind,
		fmt.Sprintf(`"requestKind":{"group":%q,"version":%q,"kind":"Toy"},`, group, version), 1)
}

func TestAnAuthorIsToldOfTheVersionThatWasWritten(t *testing.T) {
	options := Options{Kind: toyKind, Translator: func(version string, object []byte) Translator { return elder{version, string(object)} }}
	object := toyJSON(`{"color":"pink","size":-1}`)
	as := func(group, version string) string { return writtenAt(group, version, object) }
	for name, test := range map[string]struct{ body, field, message, warning string }{
		"another version":  {as(toyKind.Group, "v0"), "old.size", "Invalid value: -1: must not be negative (v0 true)", "old.color: pink fades"},
		"the same version": {as(toyKind.Group, toyKind.Version), "spec.size", "Invalid value: -1: must not be negative", "spec.color: pink fades"},
		"another group":    {as("other.example.com", "v0"), "spec.size", "Invalid value: -1: must not be negative", "spec.color: pink fades"},
		"not said":         {strings.Replace(reviewOf("CREATE", object, ""), writtenKind, "", 1), "spec.size", "Invalid value: -1: must not be negative", "spec.color: pink fades"},
	} {
		t.Run(name, func(t *testing.T) {
			got := answerOf(t, post(Validating(options, Validator[toy]{Validate: checkToy}), test.body))
			if got.Allowed || len(got.Result.Details.Causes) != 1 {
				t.Fatalf("%+v", got)
			}
			cause := got.Result.Details.Causes[0]
			want := []string{test.field, test.message, test.warning}
			if diff := cmp.Diff(want, []string{cause.Field, cause.Message, strings.Join(got.Warnings, "; ")}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(got.Result.Message, test.field+": "+test.message) {
				t.Error(got.Result.Message)
			}
		})
	}
}

func TestAnAuthorIsToldOfAValueThatIsOfTheWrongTypeByBothWebhooks(t *testing.T) {
	options := Options{Kind: toyKind, Translator: func(version string, object []byte) Translator { return elder{version, string(object)} }}
	body := writtenAt(toyKind.Group, "v0", toyJSON(`{"size":"big"}`))
	for _, handler := range []string{"mutating", "validating"} {
		h := Validating(options, Validator[toy]{Validate: checkToy})
		if handler == "mutating" {
			h = Mutating(options, Mutator[toy]{Default: defaultToy})
		}
		got := answerOf(t, post(h, body))
		if got.Allowed || got.Result.Details == nil || got.Result.Details.Causes[0].Field != "old.size" {
			t.Errorf("%s: %+v", handler, got.Result)
		}
	}
}
