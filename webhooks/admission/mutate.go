// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
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
	if err := m.defaults(p, req, obj); err != nil {
		return refused(req.Request, err)
	}
	annotations := kept.Annotations
	if m.Stamp != nil {
		stamps, err := m.Stamp(ctx, req.Request, obj, m.objects.stored(req, m.log))
		if err != nil {
			return refused(req.Request, err)
		}
		annotations = make(map[string]string, len(kept.Annotations)+len(stamps))
		maps.Copy(annotations, kept.Annotations)
		maps.Copy(annotations, stamps)
	}
	p.annotate(req.object, annotations)
	// An update may have lost it: a replace by a manifest has no finalizers. None can be added to a deleted object.
	if m.Finalizer != "" && req.SubResource == "" && req.object.Field("metadata").Field("deletionTimestamp").Kind() != '"' {
		p.finalize(req.object, m.Finalizer)
	}
	resp := allowed()
	resp.warnings = kept.Warnings
	if patch := p.end(); patch != nil {
		resp.patch, resp.result = patch, resultPatched
	}
	return resp
}

// kept returns what an update leaves of the stored object.
func (m mutation[T]) kept(req request) Kept {
	if m.Keep == nil || req.Operation != admissionv1.Update || !req.oldObject.Exists() {
		return Kept{}
	}
	kept, err := m.Keep(req.Request, req.object.Bytes(), req.oldObject.Bytes())
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

// defaults sets what obj leaves unset, and writes that as operations on the object as it was sent.
func (m mutation[T]) defaults(p *patch, req request, obj *T) error {
	if m.Default == nil {
		return nil
	}
	m.Default(obj)
	if !keepsReserved(req.object, obj) {
		return fmt.Errorf("defect in the defaulter of %s: it changed an annotation %s*, which belongs to Fairlead itself",
			m.kind.Kind, reservedPrefix)
	}
	if err := p.diff(m.objects.shape, req.object, reflect.ValueOf(obj).Elem()); err != nil {
		return fmt.Errorf("defect in the defaulter of %s: %w", m.kind.Kind, err)
	}
	return nil
}

// reservedPrefix is of the annotations that no defaulter may change: conversion restores from them what a
// version cannot express, and only Stamp may write the others.
const reservedPrefix = "fairlead.dev/"

// keepsReserved reports whether an object has the reserved annotations of its document, and no others.
func keepsReserved(document jsonindex.Value, obj any) bool {
	typed, ok := obj.(metav1.Object)
	if !ok {
		return true
	}
	annotations := typed.GetAnnotations()
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
