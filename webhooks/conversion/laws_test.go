// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

// stored is an object of a kind at a version as an API server has it, with a status, and with the restore annotation that
// its version has where something of the other one is saved.
type stored struct {
	name         string
	object       map[string]any
	desired      string
	annotation   string
	form, digest string // of the annotation
	handler      http.Handler
}

// clone returns the object with other restore annotations.
func (s stored) clone(t testing.TB, restore map[string]string) map[string]any {
	t.Helper()
	object := parsed(t, marshaled(t, s.object))
	annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	for _, name := range []string{common.ConversionDataAnnotation, common.V1Alpha1DataAnnotation} {
		delete(annotations, name)
		if value, has := restore[name]; has {
			annotations[name] = value
		}
	}
	return object
}

// convert converts an object as an API server has it converted: it reads the whole response, or none of it.
func (s stored) convert(t testing.TB, object map[string]any, desired string) map[string]any {
	t.Helper()
	w := post(s.handler, reviewOf(desired, string(marshaled(t, object))))
	response, _ := parsed(t, w.Body.Bytes())["response"].(map[string]any)
	objects, _ := response["convertedObjects"].([]any)
	if len(objects) != 1 {
		t.Fatalf("%s to %s: %.2000s", s.name, desired, w.Body)
	}
	return objects[0].(map[string]any)
}

func parsed(t testing.TB, raw []byte) (object map[string]any) {
	t.Helper()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		t.Fatalf("an API server could not read it: %v: %.2000s", err, raw)
	}
	return object
}

func marshaled(t testing.TB, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// eachStored returns an object of each kind at each version.
func eachStored(t testing.TB) (all []stored) {
	t.Helper()
	h := NewHandler(Options{Converters: []*hubspoke.Converter{externalservice.New(), rebootpolicy.New(), rebootpolicy.NewCluster(), chaospod.New()}})
	for file, status := range map[string]string{
		"networking_v1_externalservice": `{"observedGeneration":1}`, "networking_v1alpha1_externalservice": `{"observedGeneration":1,"healthy":true}`,
		"autoreboot_v1_rebootpolicy": `{"observedGeneration":1}`, "autoreboot_v1alpha1_rebootpolicy": `{"observedGeneration":1}`,
		"chaos_v1_chaospod": `{"observedGeneration":1}`, "chaos_v1alpha1_chaospod": `{"observedGeneration":1}`,
		"": `{"observedGeneration":1}`,
	} {
		text := []byte(`{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, spec: {namespaceSelector: {}, template: {targets: [{kind: Deployment, selector: {}}]}}}`)
		if file != "" {
			var err error
			if text, err = os.ReadFile(filepath.Join("..", "..", "config", "samples", file+".yaml")); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		object := parsed(t, raw)
		object["status"] = parsed(t, []byte(status))
		object["metadata"] = parsed(t, []byte(`{"name":"mine","namespace":"shop","uid":"u-1","resourceVersion":"7","generation":2,"creationTimestamp":"2026-01-01T00:00:00Z",
			"deletionTimestamp":"2026-01-02T00:00:00Z","finalizers":["example.com/x"],"labels":{"a":"b"},"annotations":{"example.com/x":"y"},
			"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u-2"}],"managedFields":[{"manager":"m"}]}`))
		group, version, _ := strings.Cut(object["apiVersion"].(string), "/")
		s := stored{name: fmt.Sprint(object["kind"], " at ", version), object: object, desired: group + "/v1alpha1", annotation: common.V1Alpha1DataAnnotation, form: "spoke", handler: h}
		if version != "v1" {
			s.desired, s.annotation, s.form = group+"/v1", common.ConversionDataAnnotation, "hub"
		}
		// What only the other version has leaves a restore annotation with the digest of this one.
		other := s.convert(t, object, s.desired)
		other["spec"].(map[string]any)["later"] = true
		back := s.convert(t, other, object["apiVersion"].(string))
		var record struct{ Digest string }
		if err := json.Unmarshal([]byte(back["metadata"].(map[string]any)["annotations"].(map[string]any)[s.annotation].(string)), &record); err != nil || record.Digest == "" {
			t.Fatalf("%s has no restore annotation: %v: %v", s.name, err, back)
		}
		s.object, s.digest = back, record.Digest
		s.object["status"] = object["status"]
		all = append(all, s)
	}
	return all
}

var (
	hostileNames = []string{"apiVersion", "kind", "metadata", "Metadata", "METADATA", "name", "namespace", "uid", "annotations", "spec", "Spec", "SPEC", "status", "Status",
		"digest", "Digest", "hub", "Hub", "spoke", "SPOKE", "bulk", "partial", "dropped", "hosts", "ports", "endpoints", "addresses", "refreshSeconds", "probe", "template",
		"target", "targets", "policies", "triggers", "schedule", "nextStop", "", "\u017fpec", "items", "later", "$ref", "__proto__", "a.b/c"}
	hostileValues = []string{`null`, `true`, `7`, `-1`, `5.0`, `1e999`, `-1e999`, `0.1e-999`, `18446744073709551616`, strings.Repeat("9", 400), `""`, `"evil"`, `"v1"`, `"\u0000"`,
		`"\ud800"`, `"<é\u2028>"`, `{}`, `[]`, `[null]`, `["evil"]`, `{"name":"evil","namespace":"kube-system","uid":"u-9"}`, `[{"name":"a"},{"name":"a"}]`,
		`{"spec":{"containers":[{"name":"evil","image":"evil"}]}}`, strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990), strings.Repeat(`{"spec":`, 9_000) + `1` + strings.Repeat(`}`, 9_000)}
)

// hostile draws JSON with members that an object has, in each spelling, of each type, and possibly twice.
func hostile(t *rapid.T, depth int) string {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom(hostileValues).Draw(t, "value")
	}
	var members []string
	for range rapid.IntRange(0, 5).Draw(t, "members") {
		name, _ := json.Marshal(rapid.SampledFrom(hostileNames).Draw(t, "name"))
		members = append(members, string(name)+":"+hostile(t, depth-1))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// annotated draws a restore annotation, mostly one with the right digest.
func annotated(t *rapid.T, s stored) string {
	form := hostile(t, 4)
	switch rapid.IntRange(0, 5).Draw(t, "annotation") {
	case 0:
		return form
	case 1:
		return rapid.String().Draw(t, "text")
	case 2:
		return fmt.Sprintf(`{"digest":%q,%q:%s,%q:%s}`, s.digest, strings.ToUpper(s.form), form, s.form, hostile(t, 4))
	case 3:
		return fmt.Sprintf(`{"digest":%q,"bulk":%d,"partial":true,%q:%s}`, s.digest, rapid.Uint64().Draw(t, "bulk"), s.form, form)
	case 4:
		return fmt.Sprintf(`{"digest":"x",%q:{"spec":%s,"metadata":{"name":"evil"}}}`, s.form, form)
	}
	return fmt.Sprintf(`{"digest":%q,%q:{"spec":%s}}`, s.digest, s.form, form)
}

// Law 15: of an annotation that a user has written, conversion takes the spec alone. What it gives out has the identity
// and the status that were asked for, and an API server can read it.
func TestNoAnnotationChangesWhatAnObjectIs(t *testing.T) {
	all := eachStored(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(all).Draw(rt, "object")
		s.checkIdentity(t, map[string]string{s.annotation: annotated(rt, s)})
	})
}

func (s stored) checkIdentity(t *testing.T, restore map[string]string) {
	t.Helper()
	plain, got := s.convert(t, s.clone(t, nil), s.desired), s.convert(t, s.clone(t, restore), s.desired)
	for _, object := range []map[string]any{plain, got} {
		annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any)
		delete(annotations, common.ConversionDataAnnotation)
		delete(annotations, common.V1Alpha1DataAnnotation)
	}
	is, want := parsed(t, marshaled(t, got)), parsed(t, marshaled(t, plain))
	delete(is, "spec")
	delete(want, "spec")
	if diff := cmp.Diff(want, is); diff != "" {
		t.Fatalf("%s, with %.500v (-want +got):\n%s", s.name, restore, diff)
	}
	if s.form == "hub" {
		return // what v1 says, a writer at v1alpha1 may say in the annotation, and admission applies all rules to it
	}
	hub := s.object["apiVersion"].(string)
	if diff := cmp.Diff(s.convert(t, plain, hub)["spec"], s.convert(t, got, hub)["spec"]); diff != "" {
		t.Fatalf("%s, with %.500v, is shown as another one (-want +got):\n%s", s.name, restore, diff)
	}
}

// If a view differed from its object, the next user to edit it would write that difference with rights of their own.
func TestAForgedViewSaysWhatItsObjectSays(t *testing.T) {
	for _, s := range eachStored(t) {
		if s.form != "spoke" {
			continue
		}
		for _, spec := range []string{`{}`, `{"hosts":["evil.example.com"]}`, `{"hosts":["evil.example.com"],"ports":{"sql":1},"refreshSeconds":1}`, `{"nextStop":"2030-01-01T00:00:00Z"}`,
			`{"target":{"kind":"Deployment","name":"evil"},"policies":[]}`, `{"template":{"targets":[{"kind":"Deployment","name":"evil"}]}}`, `{"namespaceSelector":{"matchLabels":{"a":"b"}}}`, `7`, `null`} {
			s.checkIdentity(t, map[string]string{s.annotation: fmt.Sprintf(`{"digest":%q,"spoke":{"spec":%s}}`, s.digest, spec)})
		}
	}
}

// An object may have as many values for its size as an API server can hold: admission has seen it beside others.
func TestADenseObjectIsConverted(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	labels := map[string]any{}
	for i := range 150_000 {
		labels[string([]byte{letters[i%62], letters[i/62%62], letters[i/62/62%62]})] = ""
	}
	for _, s := range eachStored(t) {
		object := s.clone(t, nil)
		object["metadata"].(map[string]any)["labels"] = labels
		s.convert(t, object, s.desired)
		if s.name == "ChaosPod at v1" {
			object = s.clone(t, nil)
			object["spec"].(map[string]any)["target"] = parsed(t, fmt.Appendf(nil, `{"template":{"spec":{"containers":[{"name":"a"}],"securityContext":{"supplementalGroups":[%s1]}}}}`,
				strings.Repeat("1,", 32_500)))
			s.convert(t, object, s.desired)
		}
	}
}

func TestALargeAnnotationIsReadSoon(t *testing.T) {
	const size = 256 << 10
	for _, s := range eachStored(t) {
		for name, value := range map[string]string{
			"brackets": strings.Repeat("[", size), "deep": strings.Repeat(`{"spec":`, size/8), "digits": strings.Repeat("9", size),
			"members": `{"digest":"` + s.digest + `","` + s.form + `":{"spec":{` + strings.Repeat(`"":0,`, size/6) + `"":0}}}`,
			"items":   `{"digest":"` + s.digest + `","` + s.form + `":{"spec":{"ports":[` + strings.Repeat(`{},`, size/4) + `{}]}}}`,
		} {
			began := time.Now()
			s.checkIdentity(t, map[string]string{s.annotation: value})
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s, %s: %s", s.name, name, took)
			}
		}
	}
}
