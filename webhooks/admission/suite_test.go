// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var toyKind = schema.GroupVersionKind{Group: "toys.example.com", Version: "v1", Kind: "Toy"}

type toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              toySpec   `json:"spec"`
	Status            toyStatus `json:"status"`
}

func (t *toy) DeepCopyObject() runtime.Object {
	raw, err := json.Marshal(t)
	copied := &toy{}
	if err := errors.Join(err, json.Unmarshal(raw, copied)); err != nil {
		panic(err) //nolint:forbidigo // what the generated copies need not do
	}
	return copied
}

type toySpec struct {
	Size    *int32              `json:"size,omitempty"`
	Color   string              `json:"color"`
	Battery *battery            `json:"battery,omitempty"`
	Wheels  []wheel             `json:"wheels,omitempty"`
	Max     *intstr.IntOrString `json:"max,omitempty"`
	Load    *resource.Quantity  `json:"load,omitempty"`
	Built   *metav1.Time        `json:"built,omitempty"`
}

type battery struct {
	Type    string `json:"type,omitempty"`
	Minutes *int32 `json:"minutes,omitempty"`
}

type wheel struct {
	Name   string `json:"name"`
	Radius *int32 `json:"radius,omitempty"`
}

type toyStatus struct {
	Done bool `json:"done"`
}

func defaultToy(t *toy) {
	if t.Spec.Size == nil {
		t.Spec.Size = ptr.To[int32](3)
	}
	if t.Spec.Battery == nil {
		t.Spec.Battery = &battery{}
	}
	if t.Spec.Battery.Type == "" {
		t.Spec.Battery.Type = "AA"
	}
	for i := range t.Spec.Wheels {
		if t.Spec.Wheels[i].Radius == nil {
			t.Spec.Wheels[i].Radius = ptr.To[int32](7)
		}
	}
}

func checkToy(_ context.Context, req Request, obj, old *toy) (warnings []string, errs field.ErrorList) {
	spec := field.NewPath("spec")
	switch obj.Spec.Color {
	case "bomb":
		bomb()
	case "pink":
		warnings = append(warnings, "spec.color: pink fades")
	}
	if size := ptr.Deref(obj.Spec.Size, 0); size < 0 {
		errs = append(errs, field.Invalid(spec.Child("size"), size, "must not be negative"))
	}
	for i, w := range obj.Spec.Wheels {
		if w.Name == "" {
			errs = append(errs, field.Required(spec.Child("wheels").Index(i).Child("name"), ""))
		}
	}
	if old != nil && old.Spec.Color != obj.Spec.Color {
		errs = append(errs, field.Forbidden(spec.Child("color"), "is immutable; "+req.UserInfo.Username+" cannot change it"))
	}
	return warnings, errs
}

func newMutating[T client.Object](o Options, m Mutator[T]) http.Handler {
	return Handlers(o, m, Validator[T]{})[MutatePath(o.Kind)]
}

func newValidating[T client.Object](o Options, v Validator[T]) http.Handler {
	return Handlers(o, Mutator[T]{}, v)[ValidatePath(o.Kind)]
}

func mutating() http.Handler {
	return newMutating(Options{Kind: toyKind}, Mutator[*toy]{Default: defaultToy})
}

func validating() http.Handler {
	return newValidating(Options{Kind: toyKind}, Validator[*toy]{Validate: checkToy})
}

func toyJSON(spec string) string {
	return `{"apiVersion":"toys.example.com/v1","kind":"Toy","metadata":{"name":"car","namespace":"shop"},"spec":` + spec + `}`
}

// reviewOf is a review as an API server writes it; "" is null.
func reviewOf(operation, object, old string) string {
	for _, text := range []*string{&object, &old} {
		if *text == "" {
			*text = "null"
		}
	}
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",`+
		`"kind":{"group":"toys.example.com","version":"v1","kind":"Toy"},`+
		`"resource":{"group":"toys.example.com","version":"v1","resource":"toys"},`+
		`"requestKind":{"group":"toys.example.com","version":"v1alpha1","kind":"Toy"},`+
		`"requestResource":{"group":"toys.example.com","version":"v1alpha1","resource":"toys"},`+
		`"name":"car","namespace":"shop","operation":%q,"userInfo":{"username":"ann","groups":["kids"]},`+
		`"object":%s,"oldObject":%s,"dryRun":true,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`, operation, object, old)
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/?timeout=10s", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answerOf reads an answer, and refuses one that the API server would.
func answerOf(t testing.TB, w *httptest.ResponseRecorder) *admissionv1.AdmissionResponse {
	t.Helper()
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, w.Body)
	}
	if w.Code != http.StatusOK || got.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview") || got.Response == nil {
		t.Fatalf("the answer is no AdmissionReview: %d %s", w.Code, w.Body)
	}
	if got.Response.UID == "" || (len(got.Response.Patch) > 0) != (got.Response.PatchType != nil) {
		t.Fatalf("the API server would not take the answer %s", w.Body)
	}
	if !got.Response.Allowed && (got.Response.Result == nil || got.Response.Result.Code < 400 || got.Response.Result.Message == "") {
		t.Fatalf("refused without saying why: %s", w.Body)
	}
	return got.Response
}

// bomb panics, as handlers are not supposed to.
func bomb() {
	panic("boom") //nolint:forbidigo // what the tests are about
}
