// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "sigs.k8s.io/json"
)

// tolerantSerializer is the serializer of a client that lists and watches one kind. It decodes a document
// item by item only after decoding it as a whole has failed.
type tolerantSerializer struct {
	runtime.NegotiatedSerializer
	scheme *runtime.Scheme
	kind   schema.GroupVersionKind
	head   []byte
}

func newSerializer(scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.NegotiatedSerializer {
	return &tolerantSerializer{serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(scheme)}, scheme, kind, headOf(kind)}
}

func (n *tolerantSerializer) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return &decoder{n, n.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type decoder struct {
	*tolerantSerializer
	whole runtime.Decoder
}

// Decode returns an error where not even the list itself can be read, as client-go does.
func (d *decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into == nil {
		if object := d.object(data); object != nil {
			of := d.kind
			return object, &of, nil
		}
	}
	decoded, kind, failure := d.whole.Decode(data, defaults, into)
	if failure == nil {
		return decoded, kind, nil
	}
	var header metav1.TypeMeta
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &header) != nil {
		return decoded, kind, failure
	}
	of := header.GroupVersionKind()
	switch of {
	case d.kind:
		object, err := d.item(data)
		if err != nil || into != nil && !assign(into, object) {
			return decoded, kind, failure
		}
		if into != nil {
			object = into
		}
		return object, &of, nil
	case d.kind.GroupVersion().WithKind(d.kind.Kind + "List"):
		list, err := d.list(data, into)
		if err != nil {
			return decoded, kind, failure
		}
		return list, &of, nil
	}
	return decoded, kind, failure
}

// list decodes each item by itself.
func (d *decoder) list(data []byte, into runtime.Object) (runtime.Object, error) {
	var envelope struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &envelope); err != nil {
		return nil, err
	}
	items := make([]runtime.Object, 0, len(envelope.Items))
	for _, raw := range envelope.Items {
		item, err := d.item(raw)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	list, err := d.scheme.New(envelope.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	lister, ok := list.(metav1.ListInterface)
	if !ok {
		return nil, fmt.Errorf("%T is no list", list)
	}
	lister.SetResourceVersion(envelope.ResourceVersion)
	lister.SetContinue(envelope.Continue)
	lister.SetRemainingItemCount(envelope.RemainingItemCount)
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	if into == nil {
		return list, nil
	}
	if !assign(into, list) {
		return nil, fmt.Errorf("%T is asked for instead of %T", into, list)
	}
	return into, nil
}

// item decodes one object, as far as possible where it does not decode as a whole.
func (d *decoder) item(raw []byte) (runtime.Object, error) {
	object, err := d.scheme.New(d.kind)
	if err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err == nil {
		return object, nil
	}
	return d.decodePartially(raw)
}

// assign replaces what into points to, which a failed attempt may have set partially.
func assign(into, from runtime.Object) bool {
	to, value := reflect.ValueOf(into), reflect.ValueOf(from)
	if to.Type() != value.Type() || to.Kind() != reflect.Pointer || to.IsNil() {
		return false
	}
	to.Elem().Set(value.Elem())
	return true
}

// decodePartially decodes metadata, spec and status as far as possible, and sets the fault. The rest is for
// code that must count the object even so, such as the ledger of restarts in flight; it must not be acted
// on.
func (d *decoder) decodePartially(raw []byte) (runtime.Object, error) {
	made, err := d.scheme.New(d.kind)
	if err != nil {
		return nil, err
	}
	object, ok := made.(metav1.Object)
	if !ok {
		return nil, errors.New(d.kind.Kind + " has no metadata")
	}
	var members map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &members); err != nil {
		return nil, err
	}
	for _, name := range []string{"metadata", "spec", "status"} {
		if value, ok := members[name]; ok {
			// A mistyped value is skipped, or ends the decoding of this member.
			_ = kjson.UnmarshalCaseSensitivePreserveInts(member(name).wrap(value), made)
		}
	}
	if object.GetName() == "" || object.GetResourceVersion() == "" {
		return nil, errors.New(d.kind.Kind + " without a name or a resourceVersion")
	}
	made.GetObjectKind().SetGroupVersionKind(d.kind)
	setFault(object, locate(raw, func(document []byte) bool {
		trial, err := d.scheme.New(d.kind)
		return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(document, trial) == nil
	}))
	return made, nil
}
