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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apix "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var chaosPod = schema.GroupKind{Group: "chaos.fairlead.dev", Kind: "ChaosPod"}

func newChaosPodHandler(o Options) http.Handler {
	o.Kinds = []schema.GroupKind{chaosPod}
	return NewHandler(o)
}

// pod is a ChaosPod at a version. At v1alpha1, one with the name stuck has a target that is no object.
func pod(version, name string) string {
	spec := map[string]string{"v1alpha1": `{"nextStop":"2027-01-01T00:00:00Z"}`, "v1": `{"schedule":{"at":"2027-01-01T00:00:00Z"}}`}[version]
	if name == "stuck" {
		spec = `{"template":{},"target":5}`
	}
	if spec == "" {
		spec = "{}"
	}
	return fmt.Sprintf(`{"apiVersion":"chaos.fairlead.dev/%s","kind":"ChaosPod","metadata":{"name":%q,"namespace":"shop"},"spec":%s}`, version, name, spec)
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
	w := post(newChaosPodHandler(Options{}), reviewOf("chaos.fairlead.dev/v1", pod("v1alpha1", "a"), pod("v1", "b"), pod("v1alpha1", "c")))
	got := answerOf(t, w)
	if got.UID != "u-1" || got.Result.Status != metav1.StatusSuccess {
		t.Errorf("answered %q with %+v", got.UID, got.Result)
	}
	if len(got.ConvertedObjects) != 3 {
		t.Fatalf("%d objects of 3 came back", len(got.ConvertedObjects))
	}
	for i, name := range []string{"a", "b", "c"} {
		var want, have any
		if err := errors.Join(json.Unmarshal([]byte(pod("v1", name)), &want), json.Unmarshal(got.ConvertedObjects[i].Raw, &have)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("object %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestAnObjectAtTheDesiredVersionComesBackAsItWas(t *testing.T) {
	odd := `{"kind":"ChaosPod","apiVersion":"chaos.fairlead.dev/v1","x":1.50}`
	got := answerOf(t, post(newChaosPodHandler(Options{}), reviewOf("chaos.fairlead.dev/v1", odd)))
	if string(got.ConvertedObjects[0].Raw) != odd {
		t.Errorf("came back as %s", got.ConvertedObjects[0].Raw)
	}
}

func TestAnEmptyReviewSucceeds(t *testing.T) {
	for _, objects := range []string{`"objects":[]`, `"objects":null`, `"x":1`} {
		body := `{"request":{"uid":"u-1","desiredAPIVersion":"chaos.fairlead.dev/v1",` + objects +
			`},"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`
		got := answerOf(t, post(newChaosPodHandler(Options{}), body))
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
		"error":            {"chaos.fairlead.dev/v1", []string{pod("v1alpha1", "a"), pod("v0", "old")}, []string{`ChaosPod shop/old (objects[1]): apiVersion "chaos.fairlead.dev/v0"`}},
		"stuck":            {"chaos.fairlead.dev/v1", []string{pod("v1alpha1", "stuck")}, []string{"ChaosPod shop/stuck", "spec.target: must be an object"}},
		"both":             {"chaos.fairlead.dev/v1", []string{pod("v1alpha1", "stuck"), pod("v0", "old")}, []string{"shop/stuck", "shop/old"}},
		"unknown desired":  {"chaos.fairlead.dev/v9", []string{pod("v1", "a")}, []string{`"chaos.fairlead.dev/v9"`, "ChaosPod.chaos.fairlead.dev"}},
		"no desired":       {"", []string{pod("v1", "a")}, []string{"desiredAPIVersion"}},
		"unknown version":  {"chaos.fairlead.dev/v1", []string{pod("v0", "a")}, []string{"shop/a", `"chaos.fairlead.dev/v0"`}},
		"unknown kind":     {"chaos.fairlead.dev/v1", []string{`{"apiVersion":"chaos.fairlead.dev/v1","kind":"Car"}`}, []string{"Car (unnamed)", `kind "Car"`}},
		"no kind":          {"chaos.fairlead.dev/v1", []string{`{"metadata":{"name":"x"}}`}, []string{"object x (objects[0])"}},
		"null":             {"chaos.fairlead.dev/v1", []string{`null`}, []string{"objects[0]", "null"}},
		"number":           {"chaos.fairlead.dev/v1", []string{pod("v1", "a"), `7`}, []string{"objects[1]", "not a JSON object"}},
		"more than we say": {"chaos.fairlead.dev/v1", many(15), []string{"objects[9]", "and 5 more"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := answerOf(t, post(newChaosPodHandler(Options{}), reviewOf(test.desired, test.objects...)))
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
		objects[i] = pod("v0", "old")
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
		"half":             {reviewOf("chaos.fairlead.dev/v1", pod("v1", "a"))[:120], 400, "not of kind ConversionReview"},
		"array":            {`[]`, 400, "cannot unmarshal array"},
		"other kind":       {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "AdmissionReview"},
		"v1beta1":          {strings.Replace(reviewOf("x"), "k8s.io/v1", "k8s.io/v1beta1", 1), 400, "conversionReviewVersions"},
		"no request":       {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, 400, "no request"},
		"null request":     {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":null}`, 400, "no request"},
		"no uid":           {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"objects":[]}}`, 400, "uid"},
		"objects no list":  {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","objects":{}}}`, 400, "request.objects"},
		"desired a number": {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":1}}`, 400, "request.desiredAPIVersion"},
		"oversized":        {reviewOf("chaos.fairlead.dev/v1", pod("v1", strings.Repeat("a", 2000))), 413, "larger than 1000 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := post(newChaosPodHandler(Options{MaxBody: 1000}), test.body)
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
	got := answerOf(t, post(NewHandler(Options{}), reviewOf("chaos.fairlead.dev/v1")))
	if got.Result.Status != metav1.StatusFailure || !strings.Contains(got.Result.Message, `converted to "chaos.fairlead.dev/v1"`) {
		t.Errorf("answered %+v", got.Result)
	}
}

func TestConversionStopsWhenItsTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(reviewOf("chaos.fairlead.dev/v1", pod("v1alpha1", "a"), pod("v1alpha1", "b"))))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	newChaosPodHandler(Options{}).ServeHTTP(w, r.WithContext(ctx))
	if got := answerOf(t, w); !strings.Contains(got.Result.Message, "stopped after 0 of 2 objects") {
		t.Errorf("answered %+v", got.Result)
	}
	err := spent(t.Context(), time.Now().Add(-28*time.Second), 27*time.Second)
	if err == nil || !strings.Contains(err.Error(), "no time left to answer within 27s") {
		t.Errorf("28 of 27 seconds: %v", err)
	}
}

func TestConversionIsCountedByWayAndResult(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := newChaosPodHandler(Options{Registerer: registry})
	post(h, reviewOf("chaos.fairlead.dev/v1", pod("v1alpha1", "a"), pod("v1alpha1", "stuck"), pod("evil", "x")))
	post(h, reviewOf("chaos.fairlead.dev/v1alpha1", pod("v1", "a")))
	post(h, `{}`)
	want := map[string]float64{ // from, kind, result, to
		"v1alpha1 ChaosPod converted v1": 1,
		"v1alpha1 ChaosPod failed v1":    1,
		"v1 ChaosPod converted v1alpha1": 1,
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
	f.Add([]byte(reviewOf("chaos.fairlead.dev/v1", pod("v1alpha1", "a"), pod("v1", "b"))))
	f.Add([]byte(reviewOf("chaos.fairlead.dev/v1", pod("v0", "old"), pod("v1alpha1", "stuck"), `null`, `[]`)))
	f.Add([]byte(reviewOf("chaos.fairlead.dev/v1alpha1", `{"kind":"ChaosPod","apiVersion":"chaos.fairlead.dev/v1"}`)))
	f.Add([]byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"\ud800"}}`))
	f.Add([]byte(`{"request":{"objects":[{}]}}`))
	f.Add(bytes.Repeat([]byte(`[`), 20000))
	f.Add([]byte(``))
	h := newChaosPodHandler(Options{})
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
