// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// streams returns the decoders of events, ours and that of every other client.
func streams(t testing.TB) (ours, plain runtime.Decoder) {
	t.Helper()
	s := newSerializer(newScheme(t), networkingv1.GroupVersion.WithKind("ExternalService"))
	info, ok := runtime.SerializerInfoForMediaType(s.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("no serializer for JSON")
	}
	events, ok := info.StreamSerializer.Serializer.(*eventDecoder)
	if !ok {
		t.Fatalf("events are decoded by a %T", info.StreamSerializer.Serializer)
	}
	return events, events.Serializer
}

func TestWhatTheAPIServerWritesIsDecodedInOneReading(t *testing.T) {
	decoders, _ := newDecoders(t)
	ours, ok := decoders.(*decoder)
	if !ok {
		t.Fatalf("decoded by a %T", decoders)
	}
	if ours.object([]byte(stored("a", goodSpec))) == nil {
		t.Error("an object is left to the decoders of client-go")
	}
	if ours.object([]byte(listHead+"]}")) != nil {
		t.Error("a list was taken for an object")
	}
}

// Whatever is decoded in one reading, client-go decodes to the same.
func FuzzAnEventIsDecodedAsEver(f *testing.F) {
	for _, spec := range []string{
		goodSpec, `null`, `{}`, `"x"`, `{"ports":null,"endpoints":[null]}`, `{"ports":[{"port":1.0}]}`, `{"ports":[{"port":1e2}]}`, `{"Ports":[{"port":1}]}`,
		`{"suspend":null,"suspend":true}`, `{"endpoints":[{"name":"\ud800","addresses":["a",null]}]}`, "{\"endpoints\":[{\"name\":\"\xff\"}]}",
		`{"healthCheck":{"interval":null,"tcpSocket":{},"httpGet":{"path":null}},"failover":{"failbackDelay":"10m","unknown":[1,{"a":2}]}}`,
		`{"healthCheck":{"interval":5}}`, `{"service":{"labels":{"a":null,"b":"c"}}}`, `{"ports":[{"port":99999999999}]}`,
	} {
		f.Add(spec, `{"observedGeneration":3}`, "ADDED")
	}
	f.Add(goodSpec, `{"conditions":[{"type":"Ready","lastTransitionTime":null}],"v1alpha1":{"a":[1.50,"\u2028"]},"fault":{"deadline":"2026-11-24T08:00:00Z"}}`, "BOOKMARK")
	f.Add(goodSpec, `{"conditions":[{"lastTransitionTime":"yesterday"}],"v1alpha1":null}`, "DELETED")
	f.Add(goodSpec, `{"v1alpha1":5}`, `ADDED","object":{},"x":"`)
	decoders, plain := newDecoders(f)
	ours, ok := decoders.(*decoder)
	if !ok {
		f.Fatalf("decoded by a %T", decoders)
	}
	oursOfEvents, plainOfEvents := streams(f)
	f.Fuzz(func(t *testing.T, spec, status, kind string) {
		object := fmt.Sprintf(`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":"a","creationTimestamp":null},"spec":%s,"status":%s}`, spec, status)
		if got := ours.object([]byte(object)); got != nil {
			want, _, err := plain.Decode([]byte(object), nil, nil)
			if err != nil {
				t.Fatalf("%s: client-go does not decode it: %v", object, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", object, diff)
			}
		}
		event := fmt.Appendf(nil, `{"type":"%s","object":%s}`, kind, object)
		var want, got metav1.WatchEvent
		_, _, wantErr := plainOfEvents.Decode(event, nil, &want)
		if _, _, err := oursOfEvents.Decode(event, nil, &got); (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: error %v, want %v", event, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	})
}
