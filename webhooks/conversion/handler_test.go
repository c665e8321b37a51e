// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apix "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// toyForm is a toy at either version.
type toyForm struct {
	Spec struct {
		N    int    `json:"n,omitempty"`
		Name string `json:"name,omitempty"`
	} `json:"spec"`
	Status struct{} `json:"status"`
}

// toys converts toys by calling a function for each, and panics where the name asks for that.
func toys(each func()) []*hubspoke.Converter {
	same := func(from toyForm) toyForm {
		if from.Spec.Name == "bomb" {
			bomb()
		}
		each()
		return from
	}
	return []*hubspoke.Converter{hubspoke.New(hubspoke.Pair[toyForm, toyForm]{
		Group: "toys.example.com", Kind: "Toy", Hub: "v1", Spoke: "v1alpha1",
		Up: same, Down: func(from toyForm) toyForm { return from },
		OverlayHub: func(_, _, after toyForm) toyForm { return after },
	})}
}

func newToyHandler(o Options) http.Handler {
	o.Converters = toys(func() {})
	return NewHandler(o)
}

func toy(version, name string) string {
	return fmt.Sprintf(`{"apiVersion":"toys.example.com/%s","kind":"Toy","metadata":{"name":%q,"namespace":"shop"},"spec":{"n":1,"name":%q}}`, version, name, name)
}

func reviewOf(desired string, objects ...string) string {
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u-1","desiredAPIVersion":%q,"objects":[%s]},"response":{}}`,
		desired, strings.Join(objects, ","))
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, Path+"?timeout=30s", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answerOf reads an answer as the API server does.
func answerOf(t testing.TB, w *httptest.ResponseRecorder) *apix.ConversionResponse {
	t.Helper()
	var got apix.ConversionReview
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, w.Body)
	}
	if w.Code != http.StatusOK || got.Kind != "ConversionReview" || got.APIVersion != "apiextensions.k8s.io/v1" || got.Response == nil {
		t.Fatalf("the answer is no ConversionReview: %d %s", w.Code, w.Body)
	}
	return got.Response
}

func TestEveryObjectOfAReviewIsAnsweredInOrder(t *testing.T) {
	w := post(newToyHandler(Options{}), reviewOf("toys.example.com/v1", toy("v1alpha1", "a"), toy("v1", "b"), toy("v1alpha1", "c")))
	got := answerOf(t, w)
	if got.UID != "u-1" || got.Result.Status != metav1.StatusSuccess {
		t.Errorf("answered %q with %+v", got.UID, got.Result)
	}
	if len(got.ConvertedObjects) != 3 {
		t.Fatalf("%d objects of 3 came back", len(got.ConvertedObjects))
	}
	for i, name := range []string{"a", "b", "c"} {
		var want, have any
		if err := errors.Join(json.Unmarshal([]byte(toy("v1", name)), &want), json.Unmarshal(got.ConvertedObjects[i].Raw, &have)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("object %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestAnObjectAtTheDesiredVersionComesBackByteForByte(t *testing.T) {
	odd := `{ "kind":"Toy", "apiVersion":"toys.example.com/v1",  "x": 1.50 }`
	got := answerOf(t, post(newToyHandler(Options{}), reviewOf("toys.example.com/v1", odd)))
	if string(got.ConvertedObjects[0].Raw) != odd {
		t.Errorf("came back as %s", got.ConvertedObjects[0].Raw)
	}
}

func TestAnEmptyReviewSucceeds(t *testing.T) {
	for _, objects := range []string{`"objects":[]`, `"objects":null`, `"x":1`} {
		body := `{"request":{"uid":"u-1","desiredAPIVersion":"toys.example.com/v1",` + objects +
			`},"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`
		got := answerOf(t, post(newToyHandler(Options{}), body))
		if got.Result.Status != metav1.StatusSuccess || len(got.ConvertedObjects) != 0 {
			t.Errorf("%s: answered %+v", objects, got)
		}
	}
}

func TestAFailureNamesTheObjectAndTheReason(t *testing.T) {
	tests := map[string]struct {
		desired string
		objects []string
		says    []string
	}{
		"error":            {"toys.example.com/v1", []string{toy("v1alpha1", "a"), toy("v0", "old")}, []string{`Toy shop/old (objects[1]): apiVersion "toys.example.com/v0"`}},
		"panic":            {"toys.example.com/v1", []string{toy("v1alpha1", "bomb")}, []string{"Toy shop/bomb", "panicked"}},
		"both":             {"toys.example.com/v1", []string{toy("v1alpha1", "bomb"), toy("v0", "old")}, []string{"shop/bomb", "shop/old"}},
		"unknown desired":  {"toys.example.com/v9", []string{toy("v1", "a")}, []string{`"toys.example.com/v9"`, "Toy.toys.example.com"}},
		"no desired":       {"", []string{toy("v1", "a")}, []string{"desiredAPIVersion"}},
		"unknown version":  {"toys.example.com/v1", []string{toy("v0", "a")}, []string{"shop/a", `"toys.example.com/v0"`}},
		"unknown kind":     {"toys.example.com/v1", []string{`{"apiVersion":"toys.example.com/v1","kind":"Car"}`}, []string{"Car (unnamed)", `kind "Car"`}},
		"no kind":          {"toys.example.com/v1", []string{`{"metadata":{"name":"x"}}`}, []string{"object x (objects[0])"}},
		"null":             {"toys.example.com/v1", []string{`null`}, []string{"objects[0]", "null"}},
		"number":           {"toys.example.com/v1", []string{toy("v1", "a"), `7`}, []string{"objects[1]", "not a JSON object"}},
		"more than we say": {"toys.example.com/v1", many(15), []string{"objects[9]", "and 5 more"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := answerOf(t, post(newToyHandler(Options{}), reviewOf(test.desired, test.objects...)))
			if got.Result.Status != metav1.StatusFailure || got.UID != "u-1" || len(got.ConvertedObjects) != 0 {
				t.Errorf("answered %+v", got)
			}
			for _, says := range test.says {
				if !strings.Contains(got.Result.Message, says) {
					t.Errorf("message is %q, want %q in it", got.Result.Message, says)
				}
			}
		})
	}
}

func many(n int) []string {
	objects := make([]string, n)
	for i := range objects {
		objects[i] = toy("v0", "old")
	}
	return objects
}

func TestARequestWithoutAReviewIsRefusedWithAStatus(t *testing.T) {
	tests := map[string]struct {
		body string
		code int
		says string
	}{
		"empty":            {``, 400, "empty"},
		"text":             {`convert this`, 400, "not of kind ConversionReview"},
		"half":             {reviewOf("toys.example.com/v1", toy("v1", "a"))[:120], 400, "not of kind ConversionReview"},
		"array":            {`[]`, 400, "must be an object"},
		"other kind":       {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "AdmissionReview"},
		"v1beta1":          {strings.Replace(reviewOf("x"), "k8s.io/v1", "k8s.io/v1beta1", 1), 400, "conversionReviewVersions"},
		"no request":       {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, 400, "no request"},
		"null request":     {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":null}`, 400, "no request"},
		"no uid":           {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"objects":[]}}`, 400, "uid"},
		"objects no list":  {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","objects":{}}}`, 400, "must be an array"},
		"desired a number": {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":1}}`, 400, "must be a string"},
		"oversized":        {reviewOf("toys.example.com/v1", toy("v1", strings.Repeat("a", 2000))), 413, "larger than 1000 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := post(newToyHandler(Options{MaxBody: 1000}), test.body)
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

func TestAReviewWithoutConvertersFails(t *testing.T) {
	got := answerOf(t, post(NewHandler(Options{}), reviewOf("toys.example.com/v1")))
	if got.Result.Status != metav1.StatusFailure || !strings.Contains(got.Result.Message, `converted to "toys.example.com/v1"`) {
		t.Errorf("answered %+v", got.Result)
	}
}

func TestConversionStopsWhenItsTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	converters := toys(func() {
		calls++
		cancel()
	})
	r := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(reviewOf("toys.example.com/v1", toy("v1alpha1", "a"), toy("v1alpha1", "b"))))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	NewHandler(Options{Converters: converters}).ServeHTTP(w, r.WithContext(ctx))
	got := answerOf(t, w)
	if calls != 1 || !strings.Contains(got.Result.Message, "stopped after 1 of 2 objects") {
		t.Errorf("%d objects were converted, answered %+v", calls, got.Result)
	}
}

func TestConversionIsCountedByWayAndResult(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newToyHandler(Options{Registerer: registry})
	post(h, reviewOf("toys.example.com/v1", toy("v1alpha1", "a"), toy("v1alpha1", "bomb"), toy("evil", "x")))
	post(h, reviewOf("toys.example.com/v1alpha1", toy("v1", "a")))
	post(h, `{}`)
	want := map[string]float64{ // from, kind, result, to
		"v1alpha1 Toy converted v1":      1,
		"v1alpha1 Toy panic v1":          1,
		"v1 Toy converted v1alpha1":      1,
		"unknown unknown failed unknown": 1,
	}
	if diff := cmp.Diff(want, counters(t, registry, "fairlead_conversion_objects_total")); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"": 1}, counters(t, registry, "fairlead_conversion_refused_total")); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// counters returns the counters of a family that are not zero, by their label values in the order
// of the labels' names.
func counters(t *testing.T, g prometheus.Gatherer, family string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, label := range m.GetLabel() {
				values = append(values, label.GetValue())
			}
			if m.GetCounter().GetValue() != 0 {
				key := strings.Join(values, " ")
				out[key] = m.GetCounter().GetValue()
			}
		}
	}
	return out
}

func FuzzReview(f *testing.F) {
	f.Add([]byte(reviewOf("toys.example.com/v1", toy("v1alpha1", "a"), toy("v1", "b"))))
	f.Add([]byte(reviewOf("toys.example.com/v1", toy("v0", "old"), toy("v1alpha1", "bomb"), `null`, `[]`)))
	f.Add([]byte(reviewOf("toys.example.com/v1alpha1", `{"kind":"Toy","apiVersion":"toys.example.com/v1"}`)))
	f.Add([]byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"\ud800"}}`))
	f.Add([]byte(`{"request":{"objects":[{}]}}`))
	f.Add(bytes.Repeat([]byte(`[`), 20000))
	f.Add([]byte(``))
	h := newToyHandler(Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(h, string(body))
		if w.Code == http.StatusOK {
			got := answerOf(t, w)
			if got.UID == "" || got.Result.Status == "" {
				t.Errorf("half an answer: %s", w.Body)
			}
			return
		}
		var status metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Message == "" || int(status.Code) != w.Code {
			t.Errorf("answered %d without saying why: %v\n%s", w.Code, err, w.Body)
		}
	})
}

// bomb panics, as handlers are not supposed to.
func bomb() {
	panic("boom") //nolint:forbidigo // what the tests are about
}

func TestConversionStopsWhenTheAPIServersPatienceIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		converters := toys(func() {
			calls++
			<-time.After(10 * time.Second)
		})
		objects := []string{toy("v1alpha1", "a"), toy("v1alpha1", "b"), toy("v1alpha1", "c"), toy("v1alpha1", "d")}
		got := answerOf(t, post(NewHandler(Options{Converters: converters}), reviewOf("toys.example.com/v1", objects...)))
		if got.Result.Status != metav1.StatusFailure || !strings.Contains(got.Result.Message, "stopped after 3 of 4 objects: no time left to answer within 27s") || calls != 3 {
			t.Errorf("answered %+v after %d calls", got.Result, calls)
		}
	})
}

func TestRestoreAnnotationsAreCountedWithTheirSize(t *testing.T) {
	metrics := prometheus.NewRegistry()
	h := NewHandler(Options{Converters: []*hubspoke.Converter{externalservice.New()}, Registerer: metrics})
	object := func(version, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"networking.fairlead.dev/%s","kind":"ExternalService","metadata":{"name":"a"},"spec":%s}`, version, spec)
	}
	const rich = `{"ports":[],"endpoints":[{"name":"mine","zone":"z"}]}`
	large := `{"ports":[],"endpoints":[{"name":"` + strings.Repeat("x", 300<<10) + `"}]}`
	got := answerOf(t, post(h, reviewOf("networking.fairlead.dev/v1alpha1", object("v1", rich), object("v1", large))))
	if got.Result.Status != metav1.StatusSuccess {
		t.Fatalf("answered %+v", got.Result)
	}
	annotation := len(annotationOf(t, got.ConvertedObjects[0].Raw))
	const labels = `{from="v1",kind="ExternalService",to="v1alpha1"}`
	for name, want := range map[string]float64{
		"fairlead_conversion_restore_annotation_bytes": float64(annotation),
		"fairlead_conversion_restore_dropped_total":    1,
	} {
		if have := sumOf(t, metrics, name); have != want || annotation == 0 {
			t.Errorf("%s%s is %v, want %v", name, labels, have, want)
		}
	}
}

func annotationOf(t *testing.T, raw []byte) string {
	t.Helper()
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	return object.Annotations["fairlead.dev/conversion-data"]
}

// sumOf adds up the values of a family, of a histogram what it observed.
func sumOf(t *testing.T, from prometheus.Gatherer, name string) (sum float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name {
				sum += metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return sum
}
