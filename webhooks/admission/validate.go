// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type validation[T any] struct {
	check   func(ctx context.Context, req Request, obj, old *T) ([]string, field.ErrorList)
	objects objects[T]
	log     logr.Logger
}

func (v validation[T]) review(ctx context.Context, asked review) answer {
	obj, err := v.objects.decode(asked.object)
	if err != nil {
		return asked.invalid(field.ErrorList{err})
	}
	if v.check == nil {
		return allowed()
	}
	warnings, errs := v.check(ctx, asked.Request, obj, v.objects.stored(asked, v.log))
	a := allowed()
	if len(errs) > 0 {
		a = asked.invalid(errs)
	}
	a.warnings = asked.warnings(warnings)
	return a
}

// stored returns the stored object of an update. One that fits no T was stored under another schema;
// to refuse the update for that would be to refuse its repair.
func (o objects[T]) stored(asked review, log logr.Logger) *T {
	if asked.Operation != admissionv1.Update || !asked.oldObject.Exists() {
		return nil
	}
	if asked.oldObject.Field("spec").Values() > maxValues {
		log.Info("The stored object has more values than are looked at; the update is checked as if it created it", "object", label(asked.Request))
		return nil
	}
	old, err := o.decode(asked.oldObject)
	if err != nil {
		log.Info("The stored object does not fit its type; the update is checked as if it created it",
			"object", label(asked.Request), "reason", err.Error())
		return nil
	}
	return old
}
