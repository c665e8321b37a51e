// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatOutlastsARequestIsARefusal(t *testing.T) {
	of := func(code int32, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
	}
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":                  {nil, false},
		"a missing right":       {apierrors.NewForbidden(pods, "p", errors.New("no")), true},
		"a policy":              {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), true},
		"wrapped":               {fmt.Errorf("write: %w", of(http.StatusUnprocessableEntity, "no")), true},
		"a webhook with 400":    {of(http.StatusBadRequest, `admission webhook "a" denied the request: no`), true},
		"a webhook with 404":    {of(http.StatusNotFound, `admission webhook "a" denied the request: no`), true},
		"a webhook with 409":    {of(http.StatusConflict, `admission webhook "a" denied the request: no`), true},
		"a webhook with 429":    {of(http.StatusTooManyRequests, `admission webhook "a" denied the request: no`), true},
		"a webhook with 500":    {of(http.StatusInternalServerError, `admission webhook "a" denied the request: no`), true},
		"a webhook that failed": {apierrors.NewInternalError(errors.New(`failed calling webhook "a": connection refused`)), true},
		"credentials":           {apierrors.NewUnauthorized("no"), true},
		"a store that failed":   {apierrors.NewInternalError(errors.New("etcd is away")), false},
		"an overload":           {apierrors.NewTooManyRequests("later", 1), false},
		"a conflict":            {apierrors.NewConflict(pods, "p", errors.New("changed")), false},
		"no such object":        {apierrors.NewNotFound(pods, "p"), false},
		"a timeout":             {apierrors.NewTimeoutError("later", 1), false},
		"no reply":              {context.DeadlineExceeded, false},
	} {
		if got := IsRefused(test.err); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
