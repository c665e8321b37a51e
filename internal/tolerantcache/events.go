// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"bytes"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The decoders of client-go read each event of a watch six times; those of this file read it twice, and leave to them
// what is out of the ordinary.

// headOf begins an object of a kind, and no list, as the API server writes it.
func headOf(kind schema.GroupVersionKind) []byte {
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"`, kind.GroupVersion(), kind.Kind)
}

// object returns the object of the kind that data is and that fits as a whole, without its kind, as client-go does; nil
// for none.
func (t *tolerantSerializer) object(data []byte) runtime.Object {
	if !bytes.HasPrefix(data, t.head) {
		return nil
	}
	object, err := t.scheme.New(t.kind)
	if err != nil || jsonv2.Unmarshal(data, object) != nil {
		return nil
	}
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object
}

// SupportedMediaTypes are those of client-go, with a decoder of events for JSON.
func (t *tolerantSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clone(t.NegotiatedSerializer.SupportedMediaTypes())
	for i := range all {
		if of := all[i].StreamSerializer; of != nil && all[i].MediaType == runtime.ContentTypeJSON {
			stream := *of
			stream.Serializer = &eventDecoder{of.Serializer}
			all[i].StreamSerializer = &stream
		}
	}
	return all
}

// eventDecoder decodes the events of a watch, and leaves their objects as they are.
type eventDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (d *eventDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	var read struct {
		Type   string         `json:"type"`
		Object jsontext.Value `json:"object"`
	}
	if event, ok := into.(*metav1.WatchEvent); ok && jsonv2.Unmarshal(data, &read) == nil && bytes.HasPrefix(read.Object, []byte("{")) {
		event.Type, event.Object.Raw = read.Type, read.Object
		return event, nil, nil
	}
	return d.Serializer.Decode(data, defaults, into)
}
