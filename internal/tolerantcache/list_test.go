// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

const listHead = `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalServiceList","metadata":{"resourceVersion":"77","continue":"next"},"items":[`

func asItIs(object any) (any, error) { return object, nil }

func readList(t testing.TB, list string) (*internalversion.List, error) {
	t.Helper()
	return newSerializer(newScheme(t), networkingv1.GroupVersion.WithKind("ExternalService")).readList(iotest.OneByteReader(strings.NewReader(list)), asItIs, nil)
}

// plainly decodes a list as client-go does.
func plainly(t testing.TB, list string) *networkingv1.ExternalServiceList {
	t.Helper()
	_, plain := newDecoders(t)
	decoded, _, err := plain.Decode([]byte(list), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return decoded.(*networkingv1.ExternalServiceList)
}

// wantItems compares the items with those of another list, without the kinds of objects, which client-go leaves out of
// events, and without what is unread.
func wantItems(t *testing.T, want *networkingv1.ExternalServiceList, got *internalversion.List) {
	t.Helper()
	if diff := cmp.Diff(want.ListMeta, got.ListMeta); diff != "" {
		t.Errorf("metadata, -want +got:\n%s", diff)
	}
	if len(got.Items) != len(want.Items) {
		t.Fatalf("%d items, want %d", len(got.Items), len(want.Items))
	}
	for i, object := range got.Items {
		want.Items[i].GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		for _, of := range []metav1.Object{&want.Items[i], object.(metav1.Object)} {
			of.SetManagedFields(nil)
			delete(of.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
		}
		if diff := cmp.Diff(&want.Items[i], object); diff != "" {
			t.Errorf("item %d, -want +got:\n%s", i, diff)
		}
	}
}

func TestAListOfWhatFitsDecodesAsEver(t *testing.T) {
	items := stored("a", goodSpec) + "," + stored("b", goodSpec) + `, {"metadata": {"name": "c"}, "spec": {"suspend":true,"suspend":false}}`
	for name, list := range map[string]string{
		"as the API server writes it": listHead + items + "]}",
		"in another order":            `{"items":[` + items + `],"more":{"items":[1]},"metadata":{"continue":"","resourceVersion":"5"},"kind":"ExternalServiceList","apiVersion":"networking.fairlead.dev/v1"}`,
		"empty":                       listHead + "]}",
		"null":                        `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalServiceList","metadata":{"resourceVersion":"77"},"items":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readList(t, list)
			if err != nil {
				t.Fatal(err)
			}
			wantItems(t, plainly(t, list), got)
		})
	}
}

func TestWhatNothingReadsIsNotDecoded(t *testing.T) {
	got, err := readList(t, listHead+`{"metadata":{"name":"a","managedFields":[{"manager":"kubectl"}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","a":"b"}},"spec":{"suspend":true}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	es := got.Items[0].(*networkingv1.ExternalService)
	if diff := cmp.Diff(metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}}, es.ObjectMeta); diff != "" {
		t.Errorf("metadata, -want +got:\n%s", diff)
	}
	if es.Spec.Suspend == nil {
		t.Error("the spec is lost")
	}
}

func TestObjectsOfOtherNamespacesAreNotDecoded(t *testing.T) {
	in := func(namespace, name, spec string) string {
		return strings.Replace(stored(name, spec), `"namespace":"shop"`, fmt.Sprintf(`"namespace":%q`, namespace), 1)
	}
	list := listHead + in("shop", "a", goodSpec) + "," + in("bank", "b", `"broken"`) + "," + in("shop", "c", goodSpec) + `,{"metadata":{"name":"d"}}]}`
	serializer := newSerializer(newScheme(t), networkingv1.GroupVersion.WithKind("ExternalService"))
	var asked, transformed []string
	got, err := serializer.readList(strings.NewReader(list), func(object any) (any, error) {
		transformed = append(transformed, object.(metav1.Object).GetName())
		return object, nil
	}, func(namespace string) bool {
		asked = append(asked, namespace)
		return namespace != "bank"
	})
	if err != nil || len(got.Items) != 3 || got.ResourceVersion != "77" {
		t.Fatalf("%v: %+v", err, got)
	}
	if diff := cmp.Diff([][]string{{"shop", "bank", "shop", ""}, {"a", "c", "d"}}, [][]string{asked, transformed}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Whatever list client-go decodes is decoded to the same.
func FuzzAListDecodesAsEver(f *testing.F) {
	for _, members := range []string{
		`"items":[` + stored("a", goodSpec) + `]`, `"items":[{},null]`, `"items":[],"items":[{"metadata":{"name":"b"}}]`, `"items":null`, `"items":[{"spec":null}]`,
		`"metadata":null,"items":[{"kind":"Other"}]`, `"items":[{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"f:a":{}}}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x","a":"b"},"labels":{"managedFields":"x"}}}]`,
		`"items":[{"metadata":{"managedFields":null,"annotations":null}},{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}},"metadata":{"name":"b"}},{"metadata":{"managedFields":[]}}]`, `"metadata":{"resourceVersion":"5"},"metadata":{"continue":"x"}`, `"Items":[{}],"kind":"ExternalServiceList"`, `"items":[{"metadata":{"name":"\ud800"}}],"x":{"a":[1e400]}`,
	} {
		f.Add(members)
	}
	_, plain := newDecoders(f)
	serializer := newSerializer(newScheme(f), networkingv1.GroupVersion.WithKind("ExternalService"))
	f.Fuzz(func(t *testing.T, members string) {
		list := `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalServiceList",` + members + `}`
		decoded, _, err := plain.Decode([]byte(list), nil, nil)
		want, ok := decoded.(*networkingv1.ExternalServiceList)
		if err != nil || !ok {
			return
		}
		got, err := serializer.readList(strings.NewReader(list), asItIs, nil)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		wantItems(t, want, got)
	})
}

func TestOneBrokenObjectIsMarkedAndItsNeighborsDecodeAsEver(t *testing.T) {
	neighbors := plainly(t, listHead+stored("a", goodSpec)+","+stored("c", goodSpec)+"]}")
	list := listHead + stored("a", goodSpec) + "," + stored("b", `{"deletionPolicy":"Orphan","ports":"secret","suspend":true}`) + "," + stored("c", goodSpec) + "]}"
	_, plain := newDecoders(t)
	if _, _, err := plain.Decode([]byte(list), nil, nil); err == nil {
		t.Fatal("any client decodes this list: nothing is tested")
	}
	got, err := readList(t, list)
	if err != nil || len(got.Items) != 3 {
		t.Fatalf("%v: %d items", err, len(got.Items))
	}
	broken := got.Items[1].(*networkingv1.ExternalService)
	got.Items = append(got.Items[:1:1], got.Items[2])
	wantItems(t, neighbors, got)
	if fault := Fault(broken); fault != "spec.ports is a string, which does not fit there" {
		t.Errorf("fault %q", fault)
	}
	if broken.Name != "b" || broken.Namespace != "shop" || broken.UID != "u-b" || broken.ResourceVersion != "7" || broken.Annotations["a"] != "b" {
		t.Errorf("metadata %+v", broken.ObjectMeta)
	}
	if broken.Generation == 3 {
		t.Error("a repair at the generation that the object has is not noticed")
	}
	if broken.Spec.DeletionPolicy == nil || *broken.Spec.DeletionPolicy != "Orphan" || broken.Spec.Suspend == nil || broken.Status.ObservedGeneration != 3 {
		t.Errorf("what does fit is lost: %+v %+v", broken.Spec, broken.Status)
	}
}

func TestAListThatIsNoneIsAnError(t *testing.T) {
	for list, want := range map[string]string{
		``:                                         "EOF",
		`{"apiVersion`:                             "EOF",
		listHead + stored("a", goodSpec):           "EOF",
		listHead + `{"spec":"x"}]}`:                "without a name",
		listHead + `{"spec":5},null]}`:             "without a name",
		listHead + stored("a", goodSpec) + `]} `:   "",
		strings.TrimSuffix(listHead, "[") + `"x"}`: "a string where [ should begin",
		`[]`: "a [ where { should begin",
		`{"kind":"Status","apiVersion":"v1","status":"Failure"}`: "the API server sent a /v1, Kind=Status",
		`{"kind":5}`: "cannot unmarshal",
	} {
		_, err := readList(t, list)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", list, err, want)
		}
	}
}

func TestAListThatEndsTooEarlyIsAnError(t *testing.T) {
	lost := errors.New("connection lost")
	response := io.MultiReader(strings.NewReader(listHead+stored("a", goodSpec)+","), iotest.ErrReader(lost))
	serializer := newSerializer(newScheme(t), networkingv1.GroupVersion.WithKind("ExternalService"))
	if _, err := serializer.readList(response, asItIs, nil); !errors.Is(err, lost) {
		t.Errorf("error %v", err)
	}
}

func TestEachListedObjectIsTransformedBeforeTheNextIsRead(t *testing.T) {
	serializer := newSerializer(newScheme(t), networkingv1.GroupVersion.WithKind("ExternalService"))
	sent, writer := io.Pipe()
	transformed := make(chan string)
	go func() {
		_, _ = io.WriteString(writer, listHead)
		for _, name := range []string{"a", "b"} {
			_, _ = io.WriteString(writer, stored(name, goodSpec)+",")
			if got := <-transformed; got != name {
				t.Errorf("%s was transformed, want %s", got, name)
			}
		}
		if err := writer.CloseWithError(io.ErrUnexpectedEOF); err != nil {
			t.Error(err)
		}
	}()
	_, err := serializer.readList(sent, func(object any) (any, error) {
		transformed <- object.(metav1.Object).GetName()
		return object, nil
	}, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

// The second is what one broken object costs at each list.
func BenchmarkDecodeAListOfAThousand(b *testing.B) {
	_, plain := newDecoders(b)
	serializer := newSerializer(newScheme(b), networkingv1.GroupVersion.WithKind("ExternalService"))
	good := listHead + strings.Repeat(stored("a", goodSpec)+",", 999)
	fits, broken := good+stored("z", goodSpec)+"]}", good+stored("z", `{"ports":"x"}`)+"]}"
	for _, c := range []struct {
		name, list string
		decode     func(list string) error
	}{
		{"plain", fits, func(list string) error {
			_, _, err := plain.Decode([]byte(list), nil, &networkingv1.ExternalServiceList{})
			return err
		}},
		{"item by item", fits, func(list string) error {
			_, err := serializer.readList(strings.NewReader(list), asItIs, nil)
			return err
		}},
		{"item by item, one broken", broken, func(list string) error {
			_, err := serializer.readList(strings.NewReader(list), asItIs, nil)
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.decode(c.list); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
