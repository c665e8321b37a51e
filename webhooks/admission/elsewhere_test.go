// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestOnlyWhatCouldNotBeFoundOutIsAskedElsewhere(t *testing.T) {
	path := field.NewPath("spec")
	for name, c := range map[string]struct {
		answer answer
		want   bool
	}{
		"allowed":                {allowed(), false},
		"invalid":                {invalid(Request{}, field.ErrorList{field.Invalid(path, 1, "no")}), false},
		"a defect":               {failed(resultPanic, http.StatusInternalServerError, "boom"), false},
		"too late":               {failed(resultError, http.StatusGatewayTimeout, "late"), false},
		"later":                  {answer{status: &metav1.Status{Code: http.StatusServiceUnavailable}}, true},
		"an unanswered question": {invalid(Request{}, field.ErrorList{field.Invalid(path, 1, "no"), field.InternalError(path, http.ErrServerClosed)}), true},
	} {
		if got := c.answer.unknown(); got != c.want {
			t.Errorf("%s: unknown is %v", name, got)
		}
	}
}

func TestBeingSentElsewhereIsAnAnswerThatTheAPIServerRepeatsAtOnce(t *testing.T) {
	w := httptest.NewRecorder()
	sendElsewhere(w, "ask again")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "0" || w.Header().Get("Connection") != "close" ||
		!strings.Contains(w.Body.String(), "ask again") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}
