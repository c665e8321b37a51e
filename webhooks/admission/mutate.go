// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

type mutation[T any] struct {
	Mutator[T]
	kind    schema.GroupVersionKind
	objects objects[T]
	log     logr.Logger
}

func (m mutation[T]) review(ctx context.Context, req request) response {
	p := newPatch(req.scratch)
	obj, wrong := m.objects.decode(req.object)
	if wrong != nil {
		return req.invalid(field.ErrorList{wrong})
	}
	if err := m.mutate(ctx, req, obj); err != nil {
		return refused(req.Request, err)
	}
	if err := p.diff(m.objects.shape, req.object, reflect.ValueOf(obj).Elem()); err != nil {
		return refused(req.Request, fmt.Errorf("defect in the defaulter of %s: %w", m.kind.Kind, err))
	}
	resp := allowed()
	if patch := p.end(); patch != nil {
		resp.patch, resp.result = patch, resultPatched
	}
	return resp
}

// mutate sets in obj what it leaves unset, the annotations that are stamped, and the finalizer.
func (m mutation[T]) mutate(ctx context.Context, req request, obj *T) error {
	object, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if m.Default != nil {
		m.Default(obj)
	}
	if !keepsReserved(req.object, object) {
		return fmt.Errorf("defect in the defaulter of %s: it changed an annotation %s*, which belongs to Fairlead itself",
			m.kind.Kind, reservedPrefix)
	}
	var stamps map[string]string
	if m.Stamp != nil {
		if stamps, err = m.Stamp(ctx, req.Request, obj, m.objects.stored(req, m.log)); err != nil {
			return err
		}
	}
	annotate(object, stamps)
	// An update may have lost it: a replace by a manifest has no finalizers. None can be added to a deleted object.
	if m.Finalizer != "" && object.GetDeletionTimestamp() == nil && !slices.Contains(object.GetFinalizers(), m.Finalizer) {
		object.SetFinalizers(append(object.GetFinalizers(), m.Finalizer))
	}
	return nil
}

// annotate sets annotations of an object; an empty value removes one.
func annotate(object metav1.Object, values map[string]string) {
	annotations := object.GetAnnotations()
	for name, value := range values {
		switch {
		case value == "":
			delete(annotations, name)
		case annotations == nil:
			annotations = map[string]string{name: value}
		default:
			annotations[name] = value
		}
	}
	object.SetAnnotations(annotations)
}

// reservedPrefix is of the annotations that no defaulter may change: only Stamp may write them.
const reservedPrefix = "fairlead.dev/"

// keepsReserved reports whether an object has the reserved annotations of its document, and no others.
func keepsReserved(document jsonindex.Value, object metav1.Object) bool {
	annotations := object.GetAnnotations()
	more := 0
	for name := range annotations {
		if strings.HasPrefix(name, reservedPrefix) {
			more++
		}
	}
	for name, value := range document.Field("metadata").Field("annotations").Fields() {
		if !strings.HasPrefix(string(name), reservedPrefix) {
			continue
		}
		was, _ := value.Text() // of null, nothing
		if now, has := annotations[string(name)]; !has || now != was {
			return false
		}
		more--
	}
	return more == 0
}
