// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type mutation[T any] struct {
	kind  schema.GroupVersionKind
	apply func(ctx context.Context, obj *T) error
	stamp func(ctx context.Context, req Request, obj, old *T) (map[string]string, error)
	log   logr.Logger
}

func (m mutation[T]) review(ctx context.Context, asked review) answer {
	obj, wrong := decode[T](asked.object)
	if wrong != nil {
		return invalid(asked.Request, field.ErrorList{wrong})
	}
	patch, err := m.defaults(ctx, asked, obj)
	if err != nil {
		return refused(asked.Request, err)
	}
	if m.stamp != nil {
		annotations, err := m.stamp(ctx, asked.Request, obj, stored[T](asked, m.log))
		if err != nil {
			return refused(asked.Request, err)
		}
		stamps, err := annotate(asked.object, annotations)
		if err != nil {
			return internal(asked.Request, err)
		}
		patch = append(patch, stamps...)
	}
	if len(patch) == 0 {
		return allowed()
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return internal(asked.Request, err)
	}
	return answer{patch: encoded, result: resultPatched}
}

// defaults sets what obj leaves unset, and answers that as operations on the object as it was sent.
func (m mutation[T]) defaults(ctx context.Context, asked review, obj *T) ([]operation, error) {
	if m.apply == nil {
		return nil, nil
	}
	kept := reserved(obj)
	before, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if err := m.apply(ctx, obj); err != nil {
		return nil, err
	}
	if !maps.Equal(kept, reserved(obj)) {
		return nil, fmt.Errorf("defect in the defaulter of %s: it changed an annotation %s*, which belongs to Fairlead itself",
			m.kind.Kind, reservedPrefix)
	}
	after, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(before, after) {
		return nil, nil
	}
	patch, err := diff(asked.object, before, after)
	if err != nil {
		return nil, fmt.Errorf("defect in the defaulter of %s: %w", m.kind.Kind, err)
	}
	return patch, nil
}

func internal(req Request, err error) answer {
	return failed(resultError, http.StatusInternalServerError, "%s: %v", label(req), err)
}

// reservedPrefix is of the annotations that no defaulter may touch: conversion restores from them what
// a version cannot say, and stamps are of no use where something else writes them.
const reservedPrefix = "fairlead.dev/"

// reserved answers a copy of an object's annotations of ours.
func reserved(obj any) map[string]string {
	object, ok := obj.(metav1.Object)
	if !ok {
		return nil
	}
	ours := make(map[string]string)
	for key, value := range object.GetAnnotations() {
		if strings.HasPrefix(key, reservedPrefix) {
			ours[key] = value
		}
	}
	return ours
}
