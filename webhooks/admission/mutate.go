// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

type mutation[T any] struct {
	kind    schema.GroupVersionKind
	apply   func(ctx context.Context, obj *T) error
	stamp   func(ctx context.Context, req Request, obj, old *T) (map[string]string, error)
	objects objects[T]
	log     logr.Logger
}

func (m mutation[T]) review(ctx context.Context, asked review) answer {
	obj, wrong := m.objects.decode(asked.object)
	if wrong != nil {
		return asked.invalid(field.ErrorList{wrong})
	}
	p := newPatch(asked.scratch)
	if err := m.defaults(ctx, p, asked, obj); err != nil {
		return refused(asked.Request, err)
	}
	if m.stamp != nil {
		annotations, err := m.stamp(ctx, asked.Request, obj, m.objects.stored(asked, m.log))
		if err != nil {
			return refused(asked.Request, err)
		}
		p.annotate(asked.object, annotations)
	}
	if patch := p.end(); patch != nil {
		return answer{patch: patch, result: resultPatched}
	}
	return allowed()
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
