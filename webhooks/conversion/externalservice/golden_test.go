// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
)

// golden reads a file of testdata as JSON.
func golden(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return raw
}

func convert(t testing.TB, raw []byte, version string) []byte {
	t.Helper()
	out, err := New().Convert(raw, version)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

func parsed(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

func annotations(obj map[string]any) map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	out, _ := metadata["annotations"].(map[string]any)
	return out
}

func TestSamplesAtV1Alpha1LoseNothingAndNeedNoAnnotation(t *testing.T) {
	for _, name := range []string{"plain", "bare"} {
		t.Run(name, func(t *testing.T) {
			up := convert(t, golden(t, name+".v1alpha1.yaml"), "v1")
			if diff := cmp.Diff(parsed(t, golden(t, name+".v1.yaml")), parsed(t, up)); diff != "" {
				t.Errorf("up: %s", diff)
			}
			want := parsed(t, golden(t, name+".v1alpha1.yaml"))
			if diff := cmp.Diff(want, parsed(t, convert(t, up, "v1alpha1"))); diff != "" {
				t.Errorf("down: %s", diff)
			}
		})
	}
}

func TestSampleAtV1ComesBackThroughItsView(t *testing.T) {
	view := convert(t, golden(t, "full.v1.yaml"), "v1alpha1")
	shown := parsed(t, view)
	if _, saved := annotations(shown)[common.ConversionDataAnnotation]; !saved {
		t.Error("the view cannot say everything and has no restore annotation")
	}
	delete(annotations(shown), common.ConversionDataAnnotation)
	if diff := cmp.Diff(parsed(t, golden(t, "full.v1alpha1.yaml")), shown); diff != "" {
		t.Errorf("view: %s", diff)
	}
	if diff := cmp.Diff(parsed(t, golden(t, "full.v1.yaml")), parsed(t, convert(t, view, "v1"))); diff != "" {
		t.Errorf("back: %s", diff)
	}
}

func TestImpliedProbeTimesAreNotSaved(t *testing.T) {
	for _, probe := range []string{
		`{"tcpSocket":{"port":80}}`,
		`{"tcpSocket":{"port":80},"periodSeconds":1}`,
		`{"httpGet":{"port":80},"timeoutSeconds":30}`,
		`{"grpc":{"port":80,"service":"ledger"},"successThreshold":1}`,
	} {
		raw := `{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService","metadata":{"name":"a"},"spec":{"hosts":["a.example.com"],"ports":{"web":80},"probe":` + probe + `}}`
		if saved := annotations(parsed(t, convert(t, []byte(raw), "v1"))); len(saved) > 0 {
			t.Errorf("%s: saved %v", probe, saved)
		}
	}
}

func TestThePortOfAProbeComesBackAsItIsWithNothingSaved(t *testing.T) {
	for _, port := range []string{"", `"port":9000`, `"port":"web"`} {
		raw := []byte(`{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService","metadata":{"name":"a"},
			"spec":{"hosts":["a.example.com"],"ports":{"web":80},"probe":{"tcpSocket":{` + port + `}}}}`)
		up := convert(t, raw, "v1")
		if saved := annotations(parsed(t, up)); len(saved) > 0 {
			t.Errorf("%s: saved %v", port, saved)
		}
		if diff := cmp.Diff(parsed(t, raw), parsed(t, convert(t, up, "v1alpha1"))); diff != "" {
			t.Error(diff)
		}
	}
}
