// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
)

// A status of v1alpha1 that v1 cannot express is converted fast both ways, as the total conversion writes it, and
// no longer counts once the status beside it has changed.
func TestACarriedStatusIsConvertedQuickly(t *testing.T) {
	c := externalservice.New()
	const generation = `"observedGeneration":-1`
	object := `{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService","metadata":{"name":"a"},"spec":{"hosts":["192.0.2.1"],"ports":{"a":1}},` +
		`"status":{` + generation + `,"healthy":true,"lastResolved":"2026-01-01T00:00:00Z","addresses":["192.0.2.1"]}}`
	for name, message := range map[string]string{"plain": "", "escaped": `a\b`, "line separator": "a\u2028b", "quoted": `"a"`, "foreign": "\u00e9", "HTML": `<a>`} {
		t.Run(name, func(t *testing.T) {
			raw := object
			if message != "" {
				condition, err := json.Marshal([]map[string]string{{
					"type": "Ready", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": message,
				}})
				if err != nil {
					t.Fatal(err)
				}
				raw = strings.Replace(object, generation, `"conditions":`+string(condition)+`,`+generation, 1)
			}
			alike(t, c, []byte(raw), "v1")
			stored, err := c.Convert([]byte(raw), "v1")
			if err != nil || !strings.Contains(string(stored), `"v1alpha1":{"digest":`) {
				t.Fatalf("%v, %s", err, stored)
			}
			alike(t, c, stored, "v1alpha1")
			back, err := c.Convert(stored, "v1alpha1")
			var was, is struct{ Status any }
			if err := errors.Join(err, json.Unmarshal([]byte(raw), &was), json.Unmarshal(back, &is)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(was, is); diff != "" {
				t.Errorf("there and back (-was +is):\n%s", diff)
			}
		})
	}
	stored, fast := alike(t, c, []byte(object), "v1")
	if !fast {
		t.Error("the conversion to v1 is not fast")
	}
	if _, fast := alike(t, c, stored, "v1alpha1"); !fast {
		t.Error("the conversion back is not fast")
	}
	digest := strings.Index(string(stored), `"digest":"`) + len(`"digest":"`)
	broken := append(append(bytes.Clone(stored[:digest]), '0'^'1'^stored[digest]), stored[digest+1:]...)
	if _, fast := alike(t, c, broken, "v1alpha1"); fast {
		t.Error("a wrong digest does not lead to the total conversion")
	}
}
