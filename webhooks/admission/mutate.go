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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type mutation[T any] struct {
	kind  schema.GroupVersionKind
	apply func(ctx context.Context, obj *T) error
}

func (m mutation[T]) review(ctx context.Context, asked review) answer {
	obj, wrong := decode[T](asked.object)
	if wrong != nil {
		return invalid(asked.Request, field.ErrorList{wrong})
	}
	if m.apply == nil {
		return allowed()
	}
	kept := reserved(obj)
	before, err := json.Marshal(obj)
	if err != nil {
		return internal(asked.Request, err)
	}
	if err := m.apply(ctx, obj); err != nil {
		return refused(asked.Request, err)
	}
	if !maps.Equal(kept, reserved(obj)) {
		return internal(asked.Request, fmt.Errorf("defect in the defaulter of %s: it changed an annotation %s*, which belongs to conversion",
			m.kind.Kind, reservedPrefix))
	}
	after, err := json.Marshal(obj)
	if err != nil {
		return internal(asked.Request, err)
	}
	if bytes.Equal(before, after) {
		return allowed()
	}
	patch, err := diff(asked.object, before, after)
	if err != nil {
		return internal(asked.Request, fmt.Errorf("defect in the defaulter of %s: %w", m.kind.Kind, err))
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

func internal(req Request, err error) answer {
	return failed(resultError, http.StatusInternalServerError, "%s: %v", label(req), err)
}

// reservedPrefix is of the annotations from which conversion restores what a version cannot say.
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
