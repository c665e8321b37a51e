// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestARequestWithoutAReviewIsRefusedWithAStatus(t *testing.T) {
	good := reviewOf("CREATE", toyJSON(`{}`), "")
	tests := map[string]struct {
		body string
		code int
		says string
	}{
		"empty":          {``, 400, "empty"},
		"text":           {`admit me`, 400, "not of kind AdmissionReview"},
		"half":           {good[:200], 400, "not of kind AdmissionReview"},
		"trailing":       {good + good, 400, "after top-level value"},
		"array":          {`[]`, 400, "not of kind AdmissionReview"},
		"empty object":   {`{}`, 400, `kind ""`},
		"other kind":     {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, 400, "ConversionReview"},
		"v1beta1":        {strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), 400, "admissionReviewVersions"},
		"no request":     {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "no request"},
		"null request":   {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`, 400, "no request"},
		"no uid":         {strings.Replace(good, `"uid":"u-1",`, ``, 1), 400, "uid"},
		"name a list":    {strings.Replace(good, `"name":"car","namespace"`, `"name":[],"namespace"`, 1), 400, "not of kind AdmissionReview"},
		"user a string":  {strings.Replace(good, `{"username":"ann","groups":["kids"]}`, `"ann"`, 1), 400, "request.userInfo"},
		"dryRun a word":  {strings.Replace(good, `"dryRun":true`, `"dryRun":"yes"`, 1), 400, "request.dryRun"},
		"kind a string":  {strings.Replace(good, `{"group":"toys.example.com","version":"v1","kind":"Toy"}`, `"Toy"`, 1), 400, "request.kind"},
		"oversized":      {reviewOf("CREATE", toyJSON(`{"color":"`+strings.Repeat("x", 5000)+`"}`), ""), 413, "larger than 4000 bytes"},
		"deeply nested":  {strings.Repeat(`{"a":`, 50_000)[:4000], 400, "AdmissionReview"},
		"not even UTF-8": {"\xff\xfe{}", 400, "AdmissionReview"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newValidating(Options{Kind: toyKind, MaxBody: 4000}, Validator[*toy]{Validate: checkToy})
			w := post(h, test.body)
			var status metav1.Status
			if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil {
				t.Fatalf("no status came back: %v\n%s", err, w.Body)
			}
			if w.Code != test.code || int(status.Code) != test.code || status.Kind != "Status" || !strings.Contains(status.Message, test.says) {
				t.Errorf("answered %d %+v, want %d and %q", w.Code, status, test.code, test.says)
			}
		})
	}
}

func TestAReviewThatMakesNoSenseHereIsDenied(t *testing.T) {
	good := reviewOf("CREATE", toyJSON(`{}`), "")
	tests := map[string]struct {
		body string
		code int32
		says string
	}{
		"other version":     {strings.Replace(good, `"version":"v1","kind":"Toy"`, `"version":"v2","kind":"Toy"`, 1), 400, "toys.example.com/v2"},
		"other kind":        {strings.Replace(good, `"version":"v1","kind":"Toy"`, `"version":"v1","kind":"Car"`, 1), 400, "Kind=Car"},
		"no kind":           {strings.Replace(good, `"kind":{"group":"toys.example.com","version":"v1","kind":"Toy"},`, ``, 1), 400, "this webhook admits toys.example.com/v1"},
		"unknown operation": {reviewOf("PATCH", toyJSON(`{}`), ""), 400, `"PATCH"`},
		"no operation":      {reviewOf("", toyJSON(`{}`), ""), 400, `""`},
		"panic":             {reviewOf("CREATE", toyJSON(`{"color":"bomb"}`), ""), 500, "Toy shop/car: the webhook panicked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := answerOf(t, post(validating(), test.body))
			if got.Allowed || got.UID != "u-1" || got.Result.Code != test.code || !strings.Contains(got.Result.Message, test.says) {
				t.Errorf("answered %+v, want %d and %q", got.Result, test.code, test.says)
			}
		})
	}
}

func TestAReviewWhoseTimeIsUpIsDenied(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(reviewOf("CREATE", toyJSON(`{}`), ""))).WithContext(ctx)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	validating().ServeHTTP(w, r)
	if got := answerOf(t, w); got.Allowed || got.Result.Reason != metav1.StatusReasonTimeout {
		t.Errorf("answered %+v", got.Result)
	}
}

func TestHandlersWithoutAFunctionAdmit(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"mutating":   newMutating(Options{Kind: toyKind}, Mutator[*toy]{}),
		"validating": newValidating(Options{Kind: toyKind}, Validator[*toy]{}),
	} {
		if got := answerOf(t, post(h, reviewOf("CREATE", toyJSON(`{}`), ""))); !got.Allowed || got.Patch != nil {
			t.Errorf("%s answered %+v", name, got)
		}
	}
}

func TestPathsNameGroupVersionAndKind(t *testing.T) {
	kind := toyKind
	kind.Group, kind.Kind = "networking.fairlead.dev", "ExternalService"
	if got := MutatePath(kind); got != "/mutate-networking-fairlead-dev-v1-externalservice" {
		t.Error(got)
	}
	if got := ValidatePath(kind); got != "/validate-networking-fairlead-dev-v1-externalservice" {
		t.Error(got)
	}
}

func TestAdmissionIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := Options{Kind: toyKind, Registerer: registry}
	mutate := newMutating(o, Mutator[*toy]{Default: defaultToy})
	validate := newValidating(o, Validator[*toy]{Validate: checkToy})
	create := func(spec string) string { return reviewOf("CREATE", toyJSON(spec), "") }
	post(mutate, create(`{}`))
	post(mutate, create(`{"size":1,"battery":{"type":"D"}}`))
	post(validate, create(`{"size":-1}`))
	post(validate, create(`{"color":"bomb"}`))
	post(validate, reviewOf("DELETE", "", toyJSON(`{}`)))
	post(validate, reviewOf("EVIL", toyJSON(`{}`), ""))
	post(validate, ``)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "fairlead_admission_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			var values []string
			for _, label := range m.GetLabel() {
				values = append(values, label.GetValue())
			}
			got[strings.Join(values, " ")] = m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{ // kind, operation, result, webhook
		"Toy CREATE patched mutating":    1,
		"Toy CREATE allowed mutating":    1,
		"Toy CREATE denied validating":   1,
		"Toy CREATE panic validating":    1,
		"Toy DELETE allowed validating":  1,
		"Toy unknown error validating":   1,
		"Toy unknown refused validating": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestOnlyWhatCouldNotBeFoundOutIsAskedElsewhere(t *testing.T) {
	path := field.NewPath("spec")
	later := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable, Message: "ask again"}}
	for name, c := range map[string]struct {
		stamp     error
		errs      field.ErrorList
		elsewhere bool
	}{
		"allowed":                {},
		"invalid":                {errs: field.ErrorList{field.Invalid(path, 1, "no")}},
		"a defect":               {stamp: errors.New("boom")},
		"later":                  {stamp: later, elsewhere: true},
		"an unanswered question": {errs: field.ErrorList{field.Invalid(path, 1, "no"), field.InternalError(path, errors.New("ask again"))}, elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			mutating := newMutating(Options{Kind: toyKind}, Mutator[*toy]{Stamp: func(context.Context, Request, *toy, *toy) (map[string]string, error) {
				return nil, c.stamp
			}})
			validating := newValidating(Options{Kind: toyKind}, Validator[*toy]{
				Validate: func(context.Context, Request, *toy, *toy) ([]string, field.ErrorList) { return nil, c.errs },
			})
			elsewhere := false
			for _, h := range []http.Handler{mutating, validating} {
				w := post(h, reviewOf("CREATE", toyJSON(`{}`), ""))
				if w.Code != http.StatusServiceUnavailable {
					answerOf(t, w)
					continue
				}
				elsewhere = true
				if w.Header().Get("Retry-After") != "0" || w.Header().Get("Connection") != "close" || !strings.Contains(w.Body.String(), "ask again") {
					t.Errorf("%v %s", w.Header(), w.Body)
				}
			}
			if elsewhere != c.elsewhere {
				t.Errorf("asked elsewhere: %t", elsewhere)
			}
		})
	}
}
