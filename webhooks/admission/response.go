// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// response is an AdmissionResponse; one without a status admits the object.
type response struct {
	status   *metav1.Status
	patch    []byte // RFC 6902
	warnings []string
	result   string
}

// write writes the review that carries the response. That is done by hand: nearly all responses have a
// patch at most, which an encoder would read once more.
func (r response) write(out *bytes.Buffer, uid types.UID) error {
	b := append(out.AvailableBuffer(), `{"kind":"`+reviewKind+`","apiVersion":"`+reviewAPIVersion+`","response":{"uid":`...)
	b = jsonindex.Quote(b, uid)
	b = strconv.AppendBool(append(b, `,"allowed":`...), r.status == nil)
	if r.status != nil {
		status, err := json.Marshal(r.status)
		if err != nil {
			return err
		}
		b = append(append(b, `,"status":`...), status...)
	}
	if len(r.patch) > 0 {
		b = append(b, `,"patchType":"`+string(admissionv1.PatchTypeJSONPatch)+`","patch":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, r.patch), '"')
	}
	separator := `,"warnings":[`
	for _, warning := range bounded(r.warnings) {
		b = jsonindex.Quote(append(b, separator...), warning)
		separator = `,`
	}
	if separator == `,` {
		b = append(b, ']')
	}
	out.Write(append(b, `}}`...))
	return nil
}

// undecided reports whether something could not be found out just now, such as the rights of the writer
// by a replica that does not reach the API server.
func (r response) undecided() bool {
	if r.status == nil {
		return false
	}
	if r.status.Code == http.StatusServiceUnavailable {
		return true
	}
	return r.status.Details != nil && slices.ContainsFunc(r.status.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == fieldInternal
	})
}

// fieldInternal is the type of a cause that field.InternalError becomes.
const fieldInternal = "InternalError"

func allowed() response { return response{result: resultAllowed} }

// failed refuses a review that cannot be decided by the rules.
func failed(result string, code int32, format string, args ...any) response {
	return response{result: result, status: &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    code,
		Reason:  reasons[code],
		Message: fmt.Sprintf(format, args...),
	}}
}

var reasons = map[int32]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,

	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
}

// Bounds of a refusal: how many errors, and bytes of a value.
const (
	maxErrors = 50
	maxShown  = 256
)

// invalid refuses the object as the API server's own validation would, with one cause for each
// field, so that kubectl prints them one below the other.
func invalid(req Request, errs field.ErrorList) response {
	told := make(field.ErrorList, 0, min(len(errs), maxErrors))
	for _, err := range errs[:min(len(errs), maxErrors)] {
		told = append(told, short(err))
	}
	status := apierrors.NewInvalid(req.Kind.GroupKind(), req.Name, told).Status()
	if more := len(errs) - len(told); more > 0 {
		note := fmt.Sprintf("%d further errors are left out", more)
		status.Message += ", " + note
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Message: note, Field: "(more)"})
	}
	return response{status: &status, result: resultDenied}
}

// short is the error with a value that fits a message.
func short(err *field.Error) *field.Error {
	text, isText := err.BadValue.(string)
	if !isText || len(text) <= maxShown {
		return err
	}
	cut := *err
	cut.BadValue = review.Cut(text, maxShown)
	return &cut
}

// refused is the response to an error of a Mutator.
func refused(req Request, err error) response {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		given := status.Status()
		return response{status: &given, result: resultDenied}
	}
	return failed(resultError, http.StatusInternalServerError, "%s: %v", label(req), err)
}

// Bounds of warnings, in characters: the API server cuts to the first where the sum is above the
// second (k8s.io/apiserver, pkg/endpoints/filters/warning.go).
const (
	maxWarning  = 256
	maxWarnings = 4096
)

// bounded makes warnings fit for HTTP headers, each once. The last one counts those that are missing.
func bounded(warnings []string) []string {
	const note = "and more warnings, which are left out"
	if len(warnings) == 0 {
		return nil
	}
	var kept []string
	seen := make(map[string]bool, len(warnings))
	room := maxWarnings - len(note)
	for _, warning := range warnings {
		text := oneLine(warning)
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		if len(text) > room {
			return append(kept, note)
		}
		room -= len(text)
		kept = append(kept, text)
	}
	return kept
}

// oneLine is the text without control characters, which no header may carry, at most maxWarning
// bytes long.
func oneLine(text string) string {
	clean := strings.Map(func(c rune) rune {
		if c == utf8.RuneError || unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	return review.Cut(strings.TrimSpace(clean), maxWarning)
}
