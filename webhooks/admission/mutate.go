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

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

type mutation[T any] struct {
	kind    schema.GroupVersionKind
	apply   func(ctx context.Context, obj *T) error
	keep    func(req Request, object, stored []byte) (Kept, error)
	stamp   func(ctx context.Context, req Request, obj, old *T) (map[string]string, error)
	objects objects[T]
	log     logr.Logger
}

func (m mutation[T]) review(ctx context.Context, asked review) answer {
	p := newPatch(asked.scratch)
	kept := m.kept(asked)
	document := wire.NewDocument()
	defer document.Release()
	if kept.Spec != nil {
		object, err := document.Read(withSpec(asked.object, kept.Spec))
		if err != nil {
			return refused(asked.Request, fmt.Errorf("the kept spec of %s: %w", m.kind.Kind, err))
		}
		p.spec(kept.Spec)
		asked.object = object
	}
	obj, wrong := m.objects.decode(asked.object)
	if wrong != nil {
		return asked.invalid(field.ErrorList{wrong})
	}
	if err := m.defaults(ctx, p, asked, obj); err != nil {
		return refused(asked.Request, err)
	}
	annotations := kept.Annotations
	if m.stamp != nil {
		stamps, err := m.stamp(ctx, asked.Request, obj, m.objects.stored(asked, m.log))
		if err != nil {
			return refused(asked.Request, err)
		}
		annotations = maps.Clone(annotations)
		if annotations == nil {
			annotations = stamps
		}
		maps.Copy(annotations, stamps)
	}
	p.annotate(asked.object, annotations)
	a := allowed()
	a.warnings = kept.Warnings
	if patch := p.end(); patch != nil {
		a.patch, a.result = patch, resultPatched
	}
	return a
}

// kept asks what an update leaves of the stored object.
func (m mutation[T]) kept(asked review) Kept {
	if m.keep == nil || asked.Operation != admissionv1.Update || !asked.oldObject.Exists() {
		return Kept{}
	}
	kept, err := m.keep(asked.Request, asked.object.Bytes(), asked.oldObject.Bytes())
	if err != nil {
		m.log.Error(err, "What an update should leave of the stored object is not known", "object", label(asked.Request))
		return Kept{}
	}
	return kept
}

// withSpec writes the object with another spec.
func withSpec(object wire.Value, spec []byte) []byte {
	var written wire.Object
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
func (m mutation[T]) defaults(ctx context.Context, p *patch, asked review, obj *T) error {
	if m.apply == nil {
		return nil
	}
	if err := m.apply(ctx, obj); err != nil {
		return err
	}
	if !keepsReserved(asked.object, obj) {
		return fmt.Errorf("defect in the defaulter of %s: it changed an annotation %s*, which belongs to Fairlead itself",
			m.kind.Kind, reservedPrefix)
	}
	if err := p.diff(m.objects.shape, asked.object, reflect.ValueOf(obj).Elem()); err != nil {
		return fmt.Errorf("defect in the defaulter of %s: %w", m.kind.Kind, err)
	}
	return nil
}

// reservedPrefix is of the annotations that no defaulter may touch: conversion restores from them what
// a version cannot say, and stamps are of no use where something else writes them.
const reservedPrefix = "fairlead.dev/"

// keepsReserved says that an object has the annotations of ours that its document has, and no others.
func keepsReserved(document wire.Value, obj any) bool {
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
