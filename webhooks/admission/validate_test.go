// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

func TestATypeErrorNamesTheField(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"string for integer":    {`{"size":"big"}`, `spec.size: Invalid value: "string": must be an integer`},
		"fraction":              {`{"size":1.5}`, `spec.size: Invalid value: "1.5": must be an integer`},
		"out of range":          {`{"size":3000000000}`, `spec.size: Invalid value: "3000000000": must be an integer: value out of range`},
		"object for list":       {`{"wheels":{}}`, `spec.wheels: Invalid value: "object": must be a list`},
		"in a list":             {`{"wheels":[{"name":"a"},{"name":true}]}`, `spec.wheels[1].name: Invalid value: "true": must be a string`},
		"list for object":       {`{"battery":[]}`, `spec.battery: Invalid value: "list": must be an object`},
		"type with its own ear": {`{"max":{}}`, `spec.max: Invalid value:`},
		"twice":                 {`{"color":"a","color":"b"}`, `spec.color: Invalid value: "": duplicate object member name`},
	}
	for name, test := range tests {
		for webhook, h := range map[string]func() *admissionv1.AdmissionResponse{
			"mutating": func() *admissionv1.AdmissionResponse {
				return answerOf(t, post(mutating(), reviewOf("CREATE", toyJSON(test.spec), "")))
			},
			"validating": func() *admissionv1.AdmissionResponse {
				return answerOf(t, post(validating(), reviewOf("CREATE", toyJSON(test.spec), "")))
			},
		} {
			t.Run(name+"/"+webhook, func(t *testing.T) {
				got := h()
				if got.Allowed || got.Result.Reason != metav1.StatusReasonInvalid || len(got.Result.Details.Causes) != 1 ||
					!strings.Contains(got.Result.Message, test.want) {
					t.Errorf("answered %+v\nwant %s", got.Result, test.want)
				}
			})
		}
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
	h := Validating(Options{Kind: toyKind}, Validator[toy]{
		Validate: func(ctx context.Context, req Request, _, _ *toy) ([]string, field.ErrorList) {
			got = req
			_, deadline = ctx.Deadline()
			return nil, nil
		},
	})
	answerOf(t, post(h, reviewOf("UPDATE", toyJSON(`{}`), toyJSON(`{}`))))
	want := Request{
		UID: "u-1", Kind: toyKind,
		RequestKind: schema.GroupVersionKind{Group: "toys.example.com", Version: "v1alpha1", Kind: "Toy"},
		Resource:    schema.GroupVersionResource{Group: "toys.example.com", Version: "v1", Resource: "toys"},
		Name:        "car", Namespace: "shop", Operation: admissionv1.Update, DryRun: true,
		User: authenticationv1.UserInfo{Username: "ann", Groups: []string{"kids"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || !deadline {
		t.Errorf("has a deadline: %t; request (-want +got):\n%s", deadline, diff)
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
		"none":      {nil, func(got []string) bool { return got == nil }},
		"lines":     {[]string{"a\nb\x00c"}, func(got []string) bool { return got[0] == "a b c" }},
		"repeated":  {[]string{"a", "a", "", " "}, func(got []string) bool { return len(got) == 1 }},
		"long":      {[]string{strings.Repeat("x", 1000)}, func(got []string) bool { return len(got[0]) == 256 }},
		"many":      {many, func(got []string) bool { return strings.Contains(got[len(got)-1], "left out") }},
		"many, sum": {many, func(got []string) bool { return len(strings.Join(got, "")) <= 4096 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := bounded(test.given); !test.check(got) {
				t.Errorf("became %q", got)
			}
		})
	}
}

func TestManyErrorsAreCounted(t *testing.T) {
	var errs field.ErrorList
	for i := range 60 {
		errs = append(errs, field.Invalid(field.NewPath("spec").Index(i), strings.Repeat("x", 10_000), "is long"))
	}
	got := invalid(Request{Kind: toyKind, Name: "car"}, errs).status
	if n := len(got.Details.Causes); n != 51 || !strings.HasSuffix(got.Message, "10 further errors are left out") || len(got.Message) > 20_000 {
		t.Errorf("%d causes in %d bytes: %s", n, len(got.Message), got.Message)
	}
}
