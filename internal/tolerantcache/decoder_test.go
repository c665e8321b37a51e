// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// stored is an ExternalService as the API server shows it.
func stored(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":%q,"namespace":"shop","uid":"u-%s","resourceVersion":"7","generation":3,"annotations":{"a":"b"}},"spec":%s,"status":{"observedGeneration":3}}`, name, name, spec)
}

const goodSpec = `{"ports":[{"name":"sql","port":5432}],"endpoints":[{"name":"a","addresses":["192.0.2.1"]}]}`

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{networkingv1.AddToScheme, chaosv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// newDecoders returns ours, and that of every other client.
func newDecoders(t testing.TB) (ours, plain runtime.Decoder) {
	t.Helper()
	scheme := newScheme(t)
	kind := networkingv1.GroupVersion.WithKind("ExternalService")
	theirs := serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(scheme)}
	info, ok := runtime.SerializerInfoForMediaType(theirs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("no serializer for JSON")
	}
	return newSerializer(scheme, kind).DecoderToVersion(info.Serializer, kind.GroupVersion()), theirs.DecoderToVersion(info.Serializer, kind.GroupVersion())
}

func TestAnEventOfABrokenObjectIsOfTheMarkedObject(t *testing.T) {
	ours, _ := newDecoders(t)
	object, _, err := ours.Decode([]byte(stored("b", `{"ports":"x"}`)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if broken, ok := object.(*networkingv1.ExternalService); !ok || broken.Name != "b" || Fault(broken) == "" {
		t.Errorf("decoded %#v", object)
	}
}

func TestWhatIsNoObjectOfTheKindFailsAsEver(t *testing.T) {
	ours, plain := newDecoders(t)
	for name, data := range map[string]string{
		"no JSON":      `{"apiVersion`,
		"no name":      `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","spec":"x"}`,
		"another kind": `{"apiVersion":"networking.fairlead.dev/v2","kind":"ExternalService","spec":"x"}`,
		"no kind":      `{"spec":"x"}`,
	} {
		_, _, want := plain.Decode([]byte(data), nil, nil)
		_, _, got := ours.Decode([]byte(data), nil, nil)
		if want == nil || got == nil || want.Error() != got.Error() {
			t.Errorf("%s: error %v, want %v", name, got, want)
		}
	}
}

func TestTheFaultIsAPathAndASortAndNeverAValue(t *testing.T) {
	ours, _ := newDecoders(t)
	for spec, want := range map[string]string{
		`"secret"`:          "spec is a string",
		`[1]`:               "spec is a list",
		`{"ports":{"a":1}}`: "spec.ports is an object",
		`{"ports":[{"port":1},{"port":"secret"}]}`:                      "spec.ports[1].port is a string",
		`{"endpoints":[{"name":"a"},"secret"]}`:                         "spec.endpoints[1] is a string",
		`{"suspend":"secret","ports":true}`:                             "spec.ports is a boolean",
		`{"ports":[{"port":1e300}]}`:                                    "spec.ports[0].port is a number",
		`{"service":{"labels":{"` + strings.Repeat("x", 500) + `":1}}}`: "spec.service.labels.xxx",
	} {
		object, _, err := ours.Decode([]byte(stored("b", spec)), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		fault := Fault(object.(metav1.Object))
		if !strings.HasPrefix(fault, want) || strings.Contains(fault, "secret") || len(fault) > 300 {
			t.Errorf("%s: fault %q, want %q", spec, fault, want)
		}
	}
}

// The schema takes any pod template, so that the type alone tells what does not fit.
func TestAFaultIsFoundInAPodTemplate(t *testing.T) {
	serializer := newSerializer(newScheme(t), chaosv1.GroupVersion.WithKind("ChaosPod"))
	for template, want := range map[string]string{
		`"secret"`:                         " is a string",
		`{"spec":{"containers":"secret"}}`: ".spec.containers is a string",
		`{"spec":{"containers":[{"name":"a"},{"resources":{"limits":{"cpu":"secret"}}}]}}`: ".spec.containers[1].resources.limits.cpu is a string",
		`{"metadata":{"labels":["secret"]}}`:                                               ".metadata.labels is a list",
	} {
		object, err := serializer.item([]byte(`{"apiVersion":"chaos.fairlead.dev/v1","kind":"ChaosPod","metadata":{"name":"b","resourceVersion":"7"},"spec":{"target":{"template":` + template + `}}}`))
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if fault := Fault(object.(metav1.Object)); fault != "spec.target.template"+want+", which does not fit there" {
			t.Errorf("%s: fault %q, want %q", template, fault, want)
		}
	}
}
