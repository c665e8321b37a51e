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
	admissionv1 "k8s.io/api/admission/v1"
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
	kept := m.kept(req)
	document := jsonindex.NewDocument()
	defer document.Release()
	if kept.Spec != nil {
		object, err := document.Read(withSpec(req.object, kept.Spec))
		if err != nil {
			return refused(req.Request, fmt.Errorf("the kept spec of %s: %w", m.kind.Kind, err))
		}
		p.spec(kept.Spec)
		req.object = object
	}
	obj, wrong := m.objects.decode(req.object)
	if wrong != nil {
		return req.invalid(field.ErrorList{wrong})
	}
	if err := m.mutate(ctx, req, obj, kept.Annotations); err != nil {
		return refused(req.Request, err)
	}
	if err := p.diff(m.objects.shape, req.object, reflect.ValueOf(obj).Elem()); err != nil {
		return refused(req.Request, fmt.Errorf("defect in the defaulter of %s: %w", m.kind.Kind, err))
	}
	resp := allowed()
	resp.warnings = kept.Warnings
	if patch := p.end(); patch != nil {
		resp.patch, resp.result = patch, resultPatched
	}
	return resp
}

// kept returns what a write leaves of the stored object.
func (m mutation[T]) kept(req request) Kept {
	isCreate := req.Operation == admissionv1.Create
	if m.Keep == nil || !isCreate && (req.Operation != admissionv1.Update || !req.oldObject.Exists()) {
		return Kept{}
	}
	var stored []byte
	if !isCreate {
		stored = req.oldObject.Bytes()
	}
	kept, err := m.Keep(req.Request, req.object.Bytes(), stored)
	if err != nil {
		m.log.Error(err, "What an update should leave of the stored object is not known", "object", label(req.Request))
		return Kept{}
	}
	return kept
}

// withSpec writes the object with another spec.
func withSpec(object jsonindex.Value, spec []byte) []byte {
	var written jsonindex.Object
	var out []byte
	for name, value := range object.Fields() {
		if string(name) != "spec" {
			out = append(written.Name(out, name), value.Bytes()...)
		}
	}
	out = append(written.Name(out, []byte("spec")), spec...)
	return written.End(out)
}

// mutate sets in obj what it leaves unset, the annotations that are kept or stamped, and the finalizer.
func (m mutation[T]) mutate(ctx context.Context, req request, obj *T, kept map[string]string) error {
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
	annotate(object, kept)
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

// reservedPrefix is of the annotations that no defaulter may change: conversion restores from them what a
// version cannot express, and only Stamp may write the others.
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
