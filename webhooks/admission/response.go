// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	stock "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fairlead-dev/fairlead/internal/spelling"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// The bounds of a response: how many errors and warnings, and bytes of a value, of a message and of a warning. The API
// server truncates warnings as well (k8s.io/apiserver, pkg/endpoints/filters/warning.go).
const (
	maxErrors   = 50
	maxWarnings = 50
	maxShown    = 256
	maxMessage  = 1024
	maxWarning  = 256
)

// failed returns the response for an object that the rules did not decide about.
func failed(err *apierrors.StatusError) stock.Response {
	resp := stock.Denied("")
	resp.Result = &err.ErrStatus
	return resp
}

// asWritten converts the names of fields to the version that was written. Its error is like that of the API server's
// own validation, with one cause for each field: kubectl prints them one below the other.
func asWritten(req Request, warnings []string, errs field.ErrorList) (stock.Warnings, error) {
	kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	version := req.Kind.Version
	if req.RequestKind != nil {
		version = req.RequestKind.Version
	}
	table, _ := spelling.Of(kind)
	bounded := make(stock.Warnings, 0, min(len(warnings), maxWarnings))
	for _, warning := range warnings[:cap(bounded)] {
		bounded = append(bounded, oneLine(table.Words(version, warning)))
	}
	if len(warnings) > maxWarnings {
		bounded = append(bounded, fmt.Sprintf("%d further warnings are left out", len(warnings)-maxWarnings))
	}
	if len(errs) == 0 {
		return bounded, nil
	}
	told := make(field.ErrorList, 0, maxErrors)
	for _, err := range errs[:min(len(errs), maxErrors)] {
		cut := *err
		cut.Field = table.Path(version, err.Field)
		if text, isText := err.BadValue.(string); isText {
			cut.BadValue = review.Cut(text, maxShown)
		}
		told = append(told, &cut)
	}
	refusal := apierrors.NewInvalid(kind, req.Name, told)
	if more := len(errs) - len(told); more > 0 {
		note := fmt.Sprintf("%d further errors are left out", more)
		refusal.ErrStatus.Message += ", " + note
		refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{Message: note, Field: "(more)"})
	}
	// An internal error means that something is not known now. An example is a replica that cannot ask the API server for
	// the rights of the writer.
	if slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type == field.ErrorTypeInternal }) {
		refusal.ErrStatus.Code = http.StatusServiceUnavailable
	}
	return bounded, refusal
}

// oneLine returns the text without control characters, which HTTP headers must not contain.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, review.Cut(strings.TrimSpace(text), maxWarning))
}
