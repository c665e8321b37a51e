// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

const listHead = `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalServiceList","metadata":{"resourceVersion":"77","continue":"next"},"items":[`

// stored is an ExternalService as the API server shows it.
func stored(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":%q,"namespace":"shop","uid":"u-%s","resourceVersion":"7","generation":3,"annotations":{"a":"b"}},"spec":%s,"status":{"observedGeneration":3}}`, name, name, spec)
}

const goodSpec = `{"ports":[{"name":"sql","port":5432}],"endpoints":[{"name":"a","addresses":["192.0.2.1"]}]}`

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := networkingv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
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

func TestAListOfWhatFitsDecodesAsEver(t *testing.T) {
	ours, plain := newDecoders(t)
	list := []byte(listHead + stored("a", goodSpec) + "," + stored("b", goodSpec) + "]}")
	want, _, err := plain.Decode(list, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := ours.Decode(list, nil, &networkingv1.ExternalServiceList{})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestOneBrokenObjectIsMarkedAndItsNeighborsDecodeAsEver(t *testing.T) {
	ours, plain := newDecoders(t)
	neighbors, _, err := plain.Decode([]byte(listHead+stored("a", goodSpec)+","+stored("c", goodSpec)+"]}"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := []byte(listHead + stored("a", goodSpec) + "," + stored("b", `{"deletionPolicy":"Orphan","ports":"secret","suspend":true}`) + "," + stored("c", goodSpec) + "]}")
	if _, _, err := plain.Decode(list, nil, nil); err == nil {
		t.Fatal("any client decodes this list: nothing is tested")
	}
	for name, into := range map[string]runtime.Object{"made": nil, "given, with leftovers": &networkingv1.ExternalServiceList{
		Items: []networkingv1.ExternalService{{ObjectMeta: metav1.ObjectMeta{Name: "old"}}, {}, {}, {}},
	}} {
		got, _, err := ours.Decode(list, nil, into)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if into != nil && got != into {
			t.Errorf("%s: another list was answered than was asked for", name)
		}
		items := got.(*networkingv1.ExternalServiceList)
		if len(items.Items) != 3 || items.ResourceVersion != "77" || items.Continue != "next" {
			t.Fatalf("%s: %d items, %+v", name, len(items.Items), items.ListMeta)
		}
		broken := items.Items[1]
		items.Items = append(items.Items[:1:1], items.Items[2])
		if diff := cmp.Diff(neighbors, got); diff != "" {
			t.Errorf("%s: neighbors, -want +got:\n%s", name, diff)
		}
		if fault := Fault(&broken); fault != "spec.ports is a string, which does not fit there" {
			t.Errorf("%s: fault %q", name, fault)
		}
		if broken.Name != "b" || broken.Namespace != "shop" || broken.UID != "u-b" || broken.ResourceVersion != "7" || broken.Annotations["a"] != "b" {
			t.Errorf("%s: metadata %+v", name, broken.ObjectMeta)
		}
		if broken.Generation == 3 {
			t.Errorf("%s: who mends it with the generation that it has is not noticed", name)
		}
		if broken.Spec.DeletionPolicy == nil || *broken.Spec.DeletionPolicy != "Orphan" || broken.Spec.Suspend == nil || broken.Status.ObservedGeneration != 3 {
			t.Errorf("%s: what does fit is lost: %+v %+v", name, broken.Spec, broken.Status)
		}
	}
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
		"no JSON":                `{"apiVersion`,
		"half a list":            listHead + stored("a", goodSpec),
		"an item without name":   listHead + `{"spec":"x"}]}`,
		"an item that is null":   listHead + `{"spec":5},null]}`,
		"items that are no list": strings.TrimSuffix(listHead, "[") + `"x"}`,
		"another kind":           `{"apiVersion":"networking.fairlead.dev/v2","kind":"ExternalService","spec":"x"}`,
		"no kind":                `{"spec":"x"}`,
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
		if !strings.HasPrefix(fault, want) || strings.Contains(fault, "secret") || len(fault) > maxPath+100 {
			t.Errorf("%s: fault %q, want %q", spec, fault, want)
		}
	}
}

// The first two are to be the same, and the third is what one broken object costs at each list.
func BenchmarkDecodeAListOfAThousand(b *testing.B) {
	ours, plain := newDecoders(b)
	good := listHead + strings.Repeat(stored("a", goodSpec)+",", 999)
	fits, broken := []byte(good+stored("z", goodSpec)+"]}"), []byte(good+stored("z", `{"ports":"x"}`)+"]}")
	for _, c := range []struct {
		name    string
		decoder runtime.Decoder
		list    []byte
	}{{"plain", plain, fits}, {"contained", ours, fits}, {"contained, one broken", ours, broken}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := c.decoder.Decode(c.list, nil, &networkingv1.ExternalServiceList{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
