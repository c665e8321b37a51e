// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/api/common"
)

// A toy kind: the hub knows several ports and a note, the spoke one port and a label. The heavy
// payload stands in both.
type (
	hubSpec struct {
		Ports   []int           `json:"ports,omitempty"`
		Note    string          `json:"note,omitempty"`
		Payload json.RawMessage `json:"payload,omitempty"`
	}
	spokeSpec struct {
		Port    int             `json:"port,omitempty"`
		Label   string          `json:"label,omitempty"`
		Payload json.RawMessage `json:"payload,omitempty"`
	}
	status struct {
		Ready bool   `json:"ready,omitempty"`
		Text  string `json:"text,omitempty"`

		V1Alpha1 *runtime.RawExtension `json:"v1alpha1,omitempty"`
	}
	spokeStatus struct {
		Ready bool `json:"ready,omitempty"`

		V1 *runtime.RawExtension `json:"v1,omitempty"`
	}
	hub struct {
		Spec   hubSpec `json:"spec"`
		Status status  `json:"status"`
	}
	spoke struct {
		Spec   spokeSpec   `json:"spec"`
		Status spokeStatus `json:"status"`
	}
)

func up(s spoke) hub {
	h := hub{Spec: hubSpec{Payload: s.Spec.Payload}, Status: status{Ready: s.Status.Ready}}
	if s.Spec.Port != 0 {
		h.Spec.Ports = []int{s.Spec.Port}
	}
	return h
}

func down(h hub) spoke {
	s := spoke{Spec: spokeSpec{Payload: h.Spec.Payload}, Status: spokeStatus{Ready: h.Status.Ready}}
	if len(h.Spec.Ports) > 0 {
		s.Spec.Port = h.Spec.Ports[0]
	}
	return s
}

func newToyConverter() *Converter {
	pair := toyPair()
	pair.Bulk = []Bulk{{Hub: []string{"spec", "payload"}, Spoke: []string{"spec", "payload"}}}
	return New(pair)
}

func toyPair() Pair[hub, spoke] {
	return Pair[hub, spoke]{
		Group: "toy.fairlead.dev", Kind: "Toy", Hub: "v1", Spoke: "v1alpha1",
		Up: up, Down: down,
		OverlayHub: func(saved hub, before, after spoke) hub {
			if before.Spec.Port != after.Spec.Port {
				saved.Spec.Ports = append([]int{after.Spec.Port}, saved.Spec.Ports[min(1, len(saved.Spec.Ports)):]...)
			}
			saved.Spec.Payload, saved.Status.Ready = after.Spec.Payload, after.Status.Ready
			return saved
		},
	}
}

func convert(t *testing.T, raw, version string) string {
	t.Helper()
	out, err := newToyConverter().Convert([]byte(raw), version)
	if err != nil {
		t.Fatalf("Convert(%s, %s): %v", raw, version, err)
	}
	return string(out)
}

func same(t *testing.T, got, want string) {
	t.Helper()
	g, errG := parseTree([]byte(got))
	w, errW := parseTree([]byte(want))
	if errG != nil || errW != nil {
		t.Fatal(errG, errW)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingLostLeavesNoAnnotation(t *testing.T) {
	spokeForm := `{"apiVersion":"toy.fairlead.dev/v1alpha1","kind":"Toy","metadata":{"name":"a","annotations":{"x":"y"}},"spec":{"port":1}}`
	hubForm := convert(t, spokeForm, "v1")
	same(t, hubForm, `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{"name":"a","annotations":{"x":"y"}},"spec":{"ports":[1]}}`)
	same(t, convert(t, hubForm, "v1alpha1"), spokeForm)
}

func TestWhatTheViewCannotSayComesBack(t *testing.T) {
	for name, raw := range map[string]string{
		"hub content":        `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{"name":"a"},"spec":{"ports":[1,2],"note":"n","payload":{"b":1,"a":2}},"status":{"ready":true,"text":"t"}}`,
		"spoke content":      `{"apiVersion":"toy.fairlead.dev/v1alpha1","kind":"Toy","metadata":{"name":"a"},"spec":{"port":1,"label":"l"}}`,
		"unknown field":      `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{"ports":[1],"later":{"x":[1,{"y":2}]}}}`,
		"unknown section":    `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{},"extra":1}`,
		"mistyped field":     `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{"ports":"many","note":"n"}}`,
		"mistyped spec":      `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":7,"status":"ok"}`,
		"digits of a number": `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{"big":12345678901234567890123}}`,
		"no spec":            `{"apiVersion":"toy.fairlead.dev/v1alpha1","kind":"Toy","metadata":{"name":"a"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			there, back := "v1", "v1alpha1"
			if strings.Contains(raw, "dev/v1\"") {
				there, back = back, there
			}
			same(t, convert(t, convert(t, raw, there), back), raw)
		})
	}
}

func TestMetadataIsAlwaysThere(t *testing.T) {
	same(t, convert(t, `{"apiVersion":"toy.fairlead.dev/v1alpha1","kind":"Toy"}`, "v1"),
		`{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{}}`)
}

func TestEditsOfBothVersionsAreKept(t *testing.T) {
	view := convert(t, `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{"ports":[1,2],"note":"n","later":true},"status":{"text":"t"}}`, "v1alpha1")
	edited := strings.Replace(view, `"port":1`, `"port":9,"label":"l"`, 1)
	if edited == view {
		t.Fatalf("no port in %s", view)
	}
	hubForm := convert(t, edited, "v1")
	var got struct {
		Spec   json.RawMessage
		Status status
	}
	if err := json.Unmarshal([]byte(hubForm), &got); err != nil {
		t.Fatal(err)
	}
	if want := `{"later":true,"note":"n","ports":[9,2]}`; string(got.Spec) != want || got.Status.Text != "t" {
		t.Errorf("hub = %s, want spec %s and status t", hubForm, want)
	}
	hubEdited := strings.Replace(hubForm, `"ports":[9,2]`, `"ports":[5,2]`, 1)
	if again := convert(t, hubEdited, "v1alpha1"); !strings.Contains(again, `"label":"l"`) || !strings.Contains(again, `"port":5`) {
		t.Errorf("view = %s, want label l and port 5", again)
	}
}

func TestBulkStaysOutOfTheAnnotationAndFollowsTheView(t *testing.T) {
	view := convert(t, `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{"note":"n","payload":{"heavy":true}}}`, "v1alpha1")
	if n := strings.Count(view, "heavy"); n != 1 {
		t.Fatalf("payload stands %d times in %s", n, view)
	}
	same(t, convert(t, strings.Replace(view, "heavy", "light", 1), "v1"),
		`{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{},"spec":{"note":"n","payload":{"light":true}}}`)
}

func TestAnnotationsStayWithinTheServersLimit(t *testing.T) {
	for name, c := range map[string]struct{ spec, status int }{
		"large status": {1 << 10, 300 << 10},
		"large spec":   {300 << 10, 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			raw := `{"apiVersion":"toy.fairlead.dev/v1","kind":"Toy","metadata":{"annotations":{"own":"` + strings.Repeat("o", 10<<10) + `"}},"spec":{"note":"` +
				strings.Repeat("n", c.spec) + `","ports":[1]},"status":{"ready":true,"text":"` + strings.Repeat("t", c.status) + `"}}`
			view := convert(t, raw, "v1alpha1")
			var parsed struct {
				Metadata struct{ Annotations map[string]string }
			}
			if err := json.Unmarshal([]byte(view), &parsed); err != nil {
				t.Fatal(err)
			}
			total := 0
			for key, value := range parsed.Metadata.Annotations {
				total += len(key) + len(value)
			}
			if total > 256<<10 {
				t.Errorf("annotations take %d bytes", total)
			}
			back := convert(t, view, "v1")
			if !strings.Contains(back, `"ready":true`) || !strings.Contains(back, `"ports":[1]`) {
				t.Errorf("the view's own content was lost: %.200s", back)
			}
			if c.spec < c.status && !strings.Contains(back, "nnn") {
				t.Error("the spec was dropped although it fits")
			}
		})
	}
}

func TestRestoreBytesMeasureTheSpecAlsoWhereItDoesNotFit(t *testing.T) {
	object := func(note, text int) []byte {
		spec := hubSpec{Ports: []int{1}, Note: strings.Repeat("n", note)}
		return marshal(map[string]any{"apiVersion": "toy.fairlead.dev/v1", "kind": "Toy", "spec": spec,
			"status": status{Text: strings.Repeat("t", text)}})
	}
	for name, c := range map[string]struct{ note, text, atLeast, below int }{
		"nothing lost":  {0, 0, 0, 1},
		"large status":  {0, 300 << 10, 0, 1},
		"some spec":     {1 << 10, 300 << 10, 1 << 10, 2 << 10},
		"does not fit":  {300 << 10, 0, 300 << 10, 301 << 10},
		"only the spec": {300 << 10, 300 << 10, 300 << 10, 301 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newToyConverter().RestoreBytes(object(c.note, c.text), "v1alpha1")
			if err != nil || got < c.atLeast || got >= c.below {
				t.Errorf("RestoreBytes = %d, %v, want %d to %d", got, err, c.atLeast, c.below)
			}
		})
	}
}

func TestCorruptAnnotationsAreIgnored(t *testing.T) {
	for _, value := range []string{"", "x", "7", "{}", `{"hub":3}`, `{"hub":null}`, `{"digest":5,"hub":{}}`, `{"hub":{"spec":[]},"bulk":7}`} {
		raw := marshal(map[string]any{"apiVersion": "toy.fairlead.dev/v1alpha1", "kind": "Toy",
			"metadata": map[string]any{"annotations": map[string]string{common.ConversionDataAnnotation: value, common.V1Alpha1DataAnnotation: value}},
			"spec":     map[string]any{"port": 3}})
		if out := convert(t, string(raw), "v1"); strings.Contains(out, "fairlead.dev/conversion") {
			t.Errorf("annotation %q survived: %s", value, out)
		}
	}
}

func TestErrorsNameTheVersion(t *testing.T) {
	for name, c := range map[string]struct{ raw, to, want string }{
		"target":    {`{"apiVersion":"toy.fairlead.dev/v1"}`, "v2", `"v2"`},
		"source":    {`{"apiVersion":"toy.fairlead.dev/v3"}`, "v1", "v3"},
		"group":     {`{"apiVersion":"other.dev/v1alpha1"}`, "v1", "other.dev"},
		"no object": {`[]`, "v1", "cannot convert"},
		"null":      {`null`, "v1", "not a JSON object"},
		"cut":       {`{"apiVersion":`, "v1", "cannot convert"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newToyConverter().Convert([]byte(c.raw), c.to); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q in it", err, c.want)
			}
		})
	}
}

func FuzzArbitraryJSONSurvivesBothWays(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"ports":[1,2]}}`, `{"spec":{"port":1,"label":"x"},"status":{"ready":true}}`,
		`{"spec":null}`, `{"spec":{"ports":{}},"status":[],"x":null}`, `{"spec":{"payload":[1,null,{"a":null}]}}`,
		`{"metadata":7,"spec":{"Port":1,"port":2}}`, `{"metadata":{"annotations":{"fairlead.dev/conversion-data":"{\"hub\":{\"spec\":{\"note\":\"evil\"}}}"}},"spec":{"port":5.0}}`,
		`{"metadata":{"annotations":{"fairlead.dev/conversion-data":"{\"hub\":{\"spec\":{\"0\":\"\"}}}"}}}`,
		`{"spec":{"port":1e3,"payload":null},"status":{"ready":null,"text":7}}`, `{"":1,"status":{}}`,
		`{"metadata":{"annotations":{"":""}},"x":0}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	converter := newToyConverter()
	f.Fuzz(func(t *testing.T, raw []byte, fromHub bool) {
		made, err := parseTree(raw)
		if err != nil {
			return
		}
		from, to := "v1alpha1", "v1"
		if fromHub {
			from, to = to, from
		}
		made["apiVersion"] = "toy.fairlead.dev/" + from
		metadata, _ := made["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		delete(annotations, common.V1Alpha1DataAnnotation)
		if !fromHub {
			made["metadata"] = map[string]any{"annotations": annotations}
		} else {
			made["metadata"] = map[string]any{"name": "x"}
		}
		there, err := converter.Convert(marshal(made), to)
		if err != nil {
			t.Fatalf("there: %v", err)
		}
		back, err := converter.Convert(there, from)
		if err != nil {
			t.Fatalf("back: %v", err)
		}
		if !fromHub && !canAnnotate(object{metadata: tree{"annotations": annotations}}.annotations()) {
			return // beside what the API server takes for no annotation there is no restore annotation
		}
		got, err := parseTree(back)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"metadata"} {
			delete(got, key)
			delete(made, key)
		}
		if !equal(map[string]any(got), map[string]any(made)) {
			t.Errorf("%s\nbecame %s\nthrough %s", marshal(made), marshal(got), there)
		}
	})
}
