// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefused reports whether the API server refused a write for a reason that outlasts the request: a missing right, an
// admission policy, a webhook whatever its code, a quota, or an object that it calls invalid. A conflict, an object that
// does not exist and an API server that asks for a delay are no refusals, and neither is an error whose outcome is not
// known.
func IsRefused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	if isFromWebhook(status.Status().Message) {
		return true
	}
	switch code := status.Status().Code; code {
	case http.StatusNotFound, http.StatusConflict, http.StatusRequestTimeout:
		return false
	case http.StatusTooManyRequests:
		_, overloaded := apierrors.SuggestsClientDelay(err)
		return !overloaded
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// isFromWebhook reports whether an error is the denial of an admission webhook, or its failure. The API server
// has no field for either.
func isFromWebhook(message string) bool {
	return strings.Contains(message, "admission webhook ") || strings.Contains(message, "failed calling webhook ")
}
