// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestValidatingRefusesWithOneCausePerField(t *testing.T) {
	object := toyJSON(`{"color":"pink","size":-1,"wheels":[{"name":"a"},{"name":""}]}`)
	got := answerOf(t, post(validating(), reviewOf("CREATE", object, "")))
	want := &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    422,
		Reason:  metav1.StatusReasonInvalid,
		Message: `Toy.toys.example.com "car" is invalid: [spec.size: Invalid value: -1: must not be negative, spec.wheels[1].name: Required value]`,
		Details: &metav1.StatusDetails{Group: "toys.example.com", Kind: "Toy", Name: "car", Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.size", Message: "Invalid value: -1: must not be negative"},
			{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.wheels[1].name", Message: "Required value"},
		}},
	}
	if got.Allowed || !cmp.Equal(want, got.Result) {
		t.Errorf("allowed %t (-want +got):\n%s", got.Allowed, cmp.Diff(want, got.Result))
	}
	if diff := cmp.Diff([]string{"spec.color: pink fades"}, got.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestValidatingComparesWithTheStoredObject(t *testing.T) {
	red, blue := toyJSON(`{"color":"red"}`), toyJSON(`{"color":"blue"}`)
	broken := toyJSON(`{"color":5}`)
	tests := map[string]struct {
		operation, object, old string
		allowed                bool
	}{
		"same":                           {"UPDATE", red, red, true},
		"changed":                        {"UPDATE", red, blue, false},
		"create has no old":              {"CREATE", red, blue, true},
		"old fits no type, is repaired":  {"UPDATE", red, broken, true},
		"new fits no type, as the old":   {"UPDATE", broken, broken, false},
		"update without an old somehow":  {"UPDATE", red, "", true},
		"delete":                         {"DELETE", "", broken, true},
		"connect":                        {"CONNECT", broken, "", true},
		"status, whatever the spec says": {"UPDATE/status", blue, red, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			operation, sub, _ := strings.Cut(test.operation, "/")
			body := reviewOf(operation, test.object, test.old)
			body = strings.Replace(body, `"uid"`, fmt.Sprintf(`"subResource":%q,"uid"`, sub), 1)
			if got := answerOf(t, post(validating(), body)); got.Allowed != test.allowed {
				t.Errorf("allowed %t: %+v", got.Allowed, got.Result)
			}
		})
	}
}

func TestAnObjectThatFitsNoTypeIsLeftToTheSchema(t *testing.T) {
	for name, object := range map[string]string{
		"string for integer":     toyJSON(`{"size":"big"}`),
		"fraction":               toyJSON(`{"size":1.5}`),
		"out of range":           toyJSON(`{"size":3000000000}`),
		"object for list":        toyJSON(`{"wheels":{}}`),
		"in a list":              toyJSON(`{"wheels":[{"name":"a"},{"name":true}]}`),
		"type with its own ear":  toyJSON(`{"load":"` + strings.Repeat("x", 10_000) + `"}`),
		"no object":              "",
		"a list":                 "[]",
		"of another version":     `{"apiVersion":"toys.example.com/v1alpha1","kind":"Toy"}`,
		"of a kind beside it":    `{"apiVersion":"toys.example.com/v1","kind":"Car"}`,
		"deeper than is decoded": toyJSON(`{"color":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`),
	} {
		t.Run(name, func(t *testing.T) {
			for _, operation := range []string{"CREATE", "UPDATE"} {
				body := reviewOf(operation, object, toyJSON(`{}`))
				if name == "deeper than is decoded" {
					if w := post(mutating(), body); w.Code != 400 {
						t.Errorf("answered %d", w.Code)
					}
					continue
				}
				if got := answerOf(t, post(mutating(), body)); !got.Allowed || got.Patch != nil {
					t.Errorf("%s: the mutating webhook answered %+v", operation, got)
				}
				got := answerOf(t, post(validating(), body))
				if got.Allowed || got.Result.Code != 400 || !strings.HasPrefix(got.Result.Message, "Toy shop/car: ") || len(got.Result.Message) > 1100 {
					t.Errorf("%s: the validating webhook answered %+v", operation, got.Result)
				}
			}
		})
	}
}

// What the schema does not look into is checked in JSON, whether it decodes or not, beside the rules.
func TestFieldsOfWhichTheSchemaKnowsNothingAreNamed(t *testing.T) {
	h := newValidating(Options{Kind: toyKind}, Validator[*toy]{Validate: checkToy, Fields: func(obj, old []byte) field.ErrorList {
		if bytes.Contains(old, []byte("lode")) || !bytes.Contains(obj, []byte("lode")) {
			return nil
		}
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "lode"), "unknown")}
	}})
	for name, test := range map[string]struct {
		object, old, want string
	}{
		"it decodes":         {`{"lode":1}`, `{}`, "spec.lode: Forbidden: unknown"},
		"and breaks a rule":  {`{"lode":1,"size":-1}`, `{}`, "[spec.lode: Forbidden: unknown, spec.size: Invalid value: -1: must not be negative]"},
		"it does not decode": {`{"lode":1,"size":"big"}`, `{}`, "spec.lode: Forbidden: unknown"},
		"it stood before":    {`{"lode":1}`, `{"lode":1}`, ""},
		"another does not":   {`{"size":"big"}`, `{}`, "Toy shop/car: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := answerOf(t, post(h, reviewOf("UPDATE", toyJSON(test.object), toyJSON(test.old))))
			if got.Allowed != (test.want == "") || !got.Allowed && !strings.Contains(got.Result.Message, test.want) {
				t.Errorf("allowed %t: %+v, want %q", got.Allowed, got.Result, test.want)
			}
		})
	}
}

func TestNamesAreMatchedExactly(t *testing.T) {
	// encoding/json would take Size for size, and refuse what the API server stores.
	if got := answerOf(t, post(validating(), reviewOf("CREATE", toyJSON(`{"Size":"unknown field"}`), ""))); !got.Allowed {
		t.Errorf("refused: %+v", got.Result)
	}
}

func TestTheRequestReachesTheValidator(t *testing.T) {
	var got Request
	var deadline bool
	h := newValidating(Options{Kind: toyKind}, Validator[*toy]{
		Validate: func(ctx context.Context, req Request, _, _ *toy) ([]string, field.ErrorList) {
			got = req
			_, deadline = ctx.Deadline()
			return nil, nil
		},
	})
	answerOf(t, post(h, reviewOf("UPDATE", toyJSON(`{}`), toyJSON(`{}`))))
	alpha := metav1.GroupVersionKind{Group: "toys.example.com", Version: "v1alpha1", Kind: "Toy"}
	if got.Operation != admissionv1.Update || got.UID != "u-1" || got.Kind != metav1.GroupVersionKind(toyKind) ||
		got.RequestKind == nil || *got.RequestKind != alpha || got.Resource.Resource != "toys" || got.Name != "car" ||
		got.Namespace != "shop" || !*got.DryRun || got.UserInfo.Username != "ann" || !deadline {
		t.Errorf("has a deadline: %t; request %+v", deadline, got)
	}
}

func TestWarningsFitIntoHeaders(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%d %s", i, strings.Repeat("ä", 200)))
	}
	tests := map[string]struct {
		given []string
		check func([]string) bool
	}{
		"none":  {nil, func(got []string) bool { return len(got) == 0 }},
		"lines": {[]string{"a\nb\x00c"}, func(got []string) bool { return got[0] == "a b c" }},
		"long":  {[]string{strings.Repeat("x", 1000)}, func(got []string) bool { return len(got[0]) == 256 }},
		"many":  {many, func(got []string) bool { return len(got) == 51 && got[50] == "50 further warnings are left out" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newValidating(Options{Kind: toyKind}, Validator[*toy]{Validate: func(context.Context, Request, *toy, *toy) ([]string, field.ErrorList) {
				return test.given, nil
			}})
			if got := answerOf(t, post(h, reviewOf("CREATE", toyJSON(`{}`), ""))); !got.Allowed || !test.check(got.Warnings) {
				t.Errorf("became %q", got.Warnings)
			}
		})
	}
}

func TestManyErrorsAreCounted(t *testing.T) {
	var errs field.ErrorList
	for i := range 60 {
		errs = append(errs, field.Invalid(field.NewPath("spec").Index(i), strings.Repeat("x", 10_000), "is long"))
	}
	h := newValidating(Options{Kind: toyKind}, Validator[*toy]{Validate: func(context.Context, Request, *toy, *toy) ([]string, field.ErrorList) {
		return nil, errs
	}})
	status := answerOf(t, post(h, reviewOf("CREATE", toyJSON(`{}`), ""))).Result
	if n := len(status.Details.Causes); n != 51 || !strings.HasSuffix(status.Message, "10 further errors are left out") || len(status.Message) > 20_000 {
		t.Errorf("%d causes in %d bytes: %s", n, len(status.Message), status.Message)
	}
}
