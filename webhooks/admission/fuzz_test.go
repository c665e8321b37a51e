// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"net/http"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func FuzzReview(f *testing.F) {
	f.Add([]byte(reviewOf("CREATE", toyJSON(`{}`), "")))
	f.Add([]byte(reviewOf("UPDATE", toyJSON(`{"color":"bomb"}`), toyJSON(`{"size":"x"}`))))
	f.Add([]byte(reviewOf("DELETE", "", toyJSON(`{}`))))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":{}}}`))
	f.Add([]byte(`{"request":[]}`))
	f.Add([]byte("{\"kind\":\"\xff\"}"))
	f.Add([]byte(``))
	handlers := []http.Handler{mutating(), validating()}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, h := range handlers {
			w := post(h, string(body))
			if w.Code == http.StatusOK {
				answerOf(t, w)
				continue
			}
			var status metav1.Status
			if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Message == "" || int(status.Code) != w.Code {
				t.Errorf("answered %d without saying why: %v\n%s", w.Code, err, w.Body)
			}
		}
	})
}

// FuzzMutation feeds any spec: whatever is admitted has a patch that applies, and that once
// applied leaves nothing to do.
func FuzzMutation(f *testing.F) {
	f.Add(`{}`)
	f.Add(`null`)
	f.Add(`{"battery":{"minutes":null},"wheels":[{"name":"a"},{"radius":1,"x":{"y":[]}}],"max":"1%"}`)
	f.Add(`{"battery":null,"wheels":null,"color":"\u0000/~","other":{"a":1e400}}`)
	f.Add(`{"size":1.0,"wheels":[null]}`)
	h := mutating()
	f.Fuzz(func(t *testing.T, spec string) {
		if !json.Valid([]byte(spec)) {
			return
		}
		object := toyJSON(spec)
		w := post(h, reviewOf("CREATE", object, ""))
		if w.Code != http.StatusOK {
			return
		}
		got := answerOf(t, w)
		if len(got.Patch) == 0 {
			return
		}
		patch, err := jsonpatch.DecodePatch(got.Patch)
		if err != nil {
			t.Fatal(err)
		}
		applied, err := patch.Apply([]byte(object))
		if err != nil {
			t.Fatalf("patch %s does not apply to %s: %v", got.Patch, object, err)
		}
		again := answerOf(t, post(h, reviewOf("CREATE", string(applied), "")))
		if !again.Allowed || len(again.Patch) != 0 {
			t.Errorf("%s, patched by %s, is answered by %+v", object, got.Patch, again)
		}
	})
}
