// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestRequestsThatCannotBeReadAreRefused(t *testing.T) {
	for _, c := range []struct{ annotation, value, want string }{
		{autorebootv1.RestartNowAnnotation, "1", ""},
		{autorebootv1.RestartNowAnnotation, "2026-03-02 14:00, by ann", ""},
		{autorebootv1.RestartNowAnnotation, strings.Repeat("ä", 256), ""},
		{autorebootv1.RestartNowAnnotation, "", "give a token"},
		{autorebootv1.RestartNowAnnotation, strings.Repeat("ä", 257), "256"},
		{autorebootv1.RestartNowAnnotation, "a\nb", "printable"},
		{autorebootv1.RestartNowAnnotation, "a\x00", "printable"},
		{autorebootv1.RestartNowAnnotation, "a\u200b", "printable"},
		{autorebootv1.RestartNowAnnotation, "a\ufffd", "printable"},
		{autorebootv1.ResumeAnnotation, "2026-03-02T14:00:00Z", ""},
		{autorebootv1.ResumeAnnotation, "2026-03-02T14:00:00.123456789+01:00", ""},
		{autorebootv1.ResumeAnnotation, "", "2026-03-02T14:00:00Z"},
		{autorebootv1.ResumeAnnotation, "now", "2026-03-02T14:00:00Z"},
		{autorebootv1.ResumeAnnotation, "2026-03-02 14:00:00", "RFC 3339"},
		{autorebootv1.ResumeAnnotation, "2026-03-02T14:00:00", "RFC 3339"},
		{autorebootv1.ResumeAnnotation, "2026-03-02T14:00:00." + strings.Repeat("0", 100) + "Z", "64"},
		{"example.com/restart-now", "", ""},
	} {
		t.Run(c.annotation+" "+c.value, func(t *testing.T) {
			obj := full(t)
			obj.Annotations = map[string]string{c.annotation: c.value}
			errs := Validate(obj, nil)
			if c.want == "" && len(errs) > 0 {
				t.Fatalf("refused: %v", errs)
			}
			if c.want == "" {
				return
			}
			if len(errs) != 1 || errs[0].Field != "metadata.annotations["+c.annotation+"]" || !strings.Contains(errs[0].Error(), c.want) || len(errs[0].Error()) > 400 {
				t.Errorf("got %v, want one short error with %q", errs, c.want)
			}
			if errs := Validate(obj, obj.DeepCopy()); len(errs) > 0 {
				t.Errorf("it stood before: %v", errs)
			}
		})
	}
}
