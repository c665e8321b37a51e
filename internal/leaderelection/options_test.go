// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

func TestDurationsThatDoNotFitAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"no client":                      func(o *Options) { o.Leases = nil },
		"namespace and a name":           func(o *Options) { o.Namespace = "" },
		"identity":                       func(o *Options) { o.Identity = "" },
		"greater than 0":                 func(o *Options) { o.RetryPeriod = 0 },
		"greater than the retry period":  func(o *Options) { o.RetryPeriod = o.RenewDeadline },
		"greater than the renew deadlin": func(o *Options) { o.LeaseDuration = o.RenewDeadline },
		"whole seconds":                  func(o *Options) { o.LeaseDuration += time.Millisecond },
	} {
		t.Run(want, func(t *testing.T) {
			o := options(&server{}, newClock(), "a")
			change(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAPanicInARequestIsItsErrorAndEndsNothingElse(t *testing.T) {
	got, err := withTimeout(t.Context(), clock.RealClock{}, time.Minute, func(context.Context) (int, error) { panic("a defect") }) //nolint:forbidigo // what it tests
	if _, ok := errors.AsType[*panics.Error](err); !ok || got != 0 {
		t.Errorf("%d, %v", got, err)
	}
}
