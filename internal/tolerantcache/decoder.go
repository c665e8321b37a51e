// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"encoding/json"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "sigs.k8s.io/json"

	"github.com/fairlead-dev/fairlead/internal/jsontype"
)

// tolerantSerializer is the serializer of a client that watches one kind. It decodes an object as far as possible only
// after decoding it as a whole has failed.
type tolerantSerializer struct {
	runtime.NegotiatedSerializer
	scheme *runtime.Scheme
	kind   schema.GroupVersionKind
	head   []byte
}

func newSerializer(scheme *runtime.Scheme, kind schema.GroupVersionKind) *tolerantSerializer {
	return &tolerantSerializer{serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(scheme)}, scheme,
		kind, headOf(kind)}
}

func (t *tolerantSerializer) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return &decoder{t, t.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type decoder struct {
	*tolerantSerializer
	whole runtime.Decoder
}

// Decode returns an error of client-go only where the object lacks even a name.
func (d *decoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil {
		return d.whole.Decode(data, defaults, into)
	}
	of := d.kind
	if object := d.object(data); object != nil {
		return object, &of, nil
	}
	decoded, kind, failure := d.whole.Decode(data, defaults, nil)
	if failure == nil {
		return decoded, kind, nil
	}
	var header metav1.TypeMeta
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &header) == nil && header.GroupVersionKind() == d.kind {
		if object, err := d.item(data); err == nil {
			return object, &of, nil
		}
	}
	return decoded, kind, failure
}

// item decodes one object, as far as possible where it does not decode as a whole.
func (t *tolerantSerializer) item(raw []byte) (runtime.Object, error) {
	object, err := t.scheme.New(t.kind)
	if err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err == nil {
		return object, nil
	}
	return t.decodePartially(raw)
}

// decodePartially decodes metadata, spec and status as far as possible, and sets the fault. The rest is for
// code that must count the object even so, such as the ledger of restarts in flight; it must not be acted
// on.
func (t *tolerantSerializer) decodePartially(raw []byte) (runtime.Object, error) {
	made, err := t.scheme.New(t.kind)
	if err != nil {
		return nil, err
	}
	object, ok := made.(metav1.Object)
	if !ok {
		return nil, errors.New(t.kind.Kind + " has no metadata")
	}
	var members map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &members); err != nil {
		return nil, err
	}
	for _, name := range []string{"metadata", "spec", "status"} {
		if value, ok := members[name]; ok {
			// A mistyped value is skipped, or ends the decoding of this member.
			_ = kjson.UnmarshalCaseSensitivePreserveInts(slices.Concat([]byte(`{"`+name+`":`), value, []byte("}")), made)
		}
	}
	if object.GetName() == "" || object.GetResourceVersion() == "" {
		return nil, errors.New(t.kind.Kind + " without a name or a resourceVersion")
	}
	made.GetObjectKind().SetGroupVersionKind(t.kind)
	path, is := jsontype.Mismatch(raw, func(document []byte) bool {
		trial, err := t.scheme.New(t.kind)
		return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(document, trial) == nil
	})
	fault := path + " is " + is + ", which does not fit there"
	if path == "" {
		fault = "the whole of it does not decode"
	}
	setFault(object, fault)
	return made, nil
}
