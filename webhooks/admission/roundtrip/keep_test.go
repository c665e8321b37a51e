// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package roundtrip

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
)

func TestAnAnnotationThatNoClientOfV1alpha1CouldReadIsRemoved(t *testing.T) {
	with := func(value string) []byte {
		raw, err := json.Marshal(map[string]any{"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService",
			"metadata": map[string]any{"name": "a", "annotations": map[string]string{common.V1Alpha1DataAnnotation: value}}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	const genuine, other = `{"digest":"x","spoke":{"spec":{"hosts":["192.0.2.1"],"ports":{}}}}`, `{"digest":"x","spoke":{"spec":{"hosts":["192.0.2.2"]}}}`
	req := admission.Request{RequestKind: schema.GroupVersionKind{Version: "v1"}}
	for name, c := range map[string]struct {
		given, stored string
		want          string
	}{
		"genuine":                       {genuine, "", genuine},
		"a note of what did not fit":    {`{"dropped":70000}`, "", `{"dropped":70000}`},
		"no object":                     {`{"digest":"x","spoke":{"spec":7}}`, "", ""},
		"a value of the wrong type":     {`{"digest":"x","spoke":{"spec":{"hosts":7}}}`, "", ""},
		"a nested value of the wrong":   {`{"digest":"x","spoke":{"spec":{"ports":{"a":"b"}}}}`, "", ""},
		"other metadata alone":          {`{"digest":"x","spoke":{"metadata":{"name":"evil"}}}`, "", ""},
		"a number that no float holds":  {`{"digest":"x","spoke":{"spec":{"later":1e999}}}`, "", ""},
		"deeper than a parser goes":     {`{"digest":"x","spoke":{"spec":{"later":` + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990) + `}}}`, "", ""},
		"stored as well":                {`{"digest":"x","spoke":{"spec":7}}`, `{"digest":"x","spoke":{"spec":7}}`, ""},
		"changed by a writer at v1":     {other, genuine, genuine},
		"put by a writer at v1":         {`{"digest":"x","spoke":{"spec":7}}`, genuine, genuine},
		"removed, and it was of no use": {"", `{"digest":"x","spoke":{"spec":7}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var stored []byte
			if c.stored != "" {
				stored = with(c.stored)
			}
			kept, err := Keeper(externalservice.New())(req, with(c.given), stored)
			if err != nil {
				t.Fatal(err)
			}
			got, changed := kept.Annotations[common.V1Alpha1DataAnnotation]
			if !changed {
				got = c.given
			}
			if got != c.want || changed != (len(kept.Warnings) == 1) {
				t.Errorf("%q, with the warnings %q, want %q", got, kept.Warnings, c.want)
			}
		})
	}
	kept, err := Keeper(externalservice.New())(admission.Request{RequestKind: schema.GroupVersionKind{Version: "v1alpha1"}}, with(other), nil)
	if err != nil || kept.Annotations != nil || kept.Spec != nil {
		t.Errorf("a new object at v1alpha1 keeps %+v, %v", kept, err)
	}
}
