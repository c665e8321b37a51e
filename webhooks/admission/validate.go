// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type validation[T any] struct {
	Validator[T]
	objects objects[T]
	log     logr.Logger
}

func (v validation[T]) review(ctx context.Context, req request) response {
	obj, err := v.objects.decode(req.object)
	if err != nil {
		return req.invalid(field.ErrorList{err})
	}
	if v.Validate == nil {
		return allowed()
	}
	warnings, errs := v.Validate(ctx, req.Request, obj, v.objects.stored(req, v.log))
	resp := allowed()
	if len(errs) > 0 {
		resp = req.invalid(errs)
	}
	resp.warnings = req.warnings(warnings)
	return resp
}
