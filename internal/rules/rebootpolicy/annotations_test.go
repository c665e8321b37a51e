// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestARequestIsAToken(t *testing.T) {
	for _, annotation := range []string{autorebootv1.RestartNowAnnotation, autorebootv1.RetryAnnotation} {
		obj := full(t)
		obj.Annotations = map[string]string{annotation: "2026-03-02T14:00:00Z"}
		if errs := Validate(obj, nil); len(errs) > 0 {
			t.Errorf("%v", errs)
		}
		obj.Annotations[annotation] = ""
		if errs := Validate(obj, nil); len(errs) != 1 || errs[0].Field != "metadata.annotations["+annotation+"]" {
			t.Errorf("%s: %v", annotation, errs)
		}
		if errs := Validate(obj, obj.DeepCopy()); len(errs) > 0 {
			t.Errorf("it was stored before: %v", errs)
		}
	}
}

func TestARequestBeforeThePolicyIsObservedIsWarnedOf(t *testing.T) {
	obj := full(t)
	obj.Annotations = map[string]string{autorebootv1.RestartNowAnnotation: "1"}
	before := obj.DeepCopy()
	if fresh := Warnings(obj, before); len(fresh) != 1 || !strings.Contains(fresh[0], "[autoreboot.fairlead.dev/restart-now]: requests nothing") {
		t.Errorf("not observed: %q", fresh)
	}
	before.Status.ObservedGeneration = 1
	if again := Warnings(obj, before); len(again) > 0 {
		t.Errorf("observed: %q", again)
	}
}
