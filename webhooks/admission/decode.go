// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/webhooks/internal/shape"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// objects reads the objects of a type.
type objects[T any] struct{ shape *shape.Shape }

// objectsOf leaves managedFields out: no rule reads them, and they may be half of an object.
func objectsOf[T any]() objects[T] {
	return objects[T]{shape.Of(reflect.TypeFor[T](), reflect.TypeFor[[]metav1.ManagedFieldsEntry]())}
}

// decode reads an object into its type. Names are matched exactly, and a
// value of a wrong type or a member that stands there twice is an error of that field. A member
// that T does not know is left out: during an upgrade the CRD may be newer than this binary.
func (o objects[T]) decode(raw wire.Value) (*T, *field.Error) {
	obj := new(T)
	if o.shape.Decode(raw, reflect.ValueOf(obj).Elem()) != shape.Unread {
		return obj, nil
	}
	// Something is unusual about it. This decoder is slower, and says what is wrong if anything is.
	obj = new(T)
	if err := jsonv2.Unmarshal(raw.Bytes(), obj); err != nil {
		return nil, mistyped(raw.Bytes(), err)
	}
	return obj, nil
}
