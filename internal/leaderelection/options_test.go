// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"strings"
	"testing"
	"time"
)

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"identity is empty":                      func(o *Options) { o.Identity = "" },
		"retryPeriod must be greater than zero":  func(o *Options) { o.RetryPeriod, o.PollPeriod = 0, 0 },
		"renewDeadline must be greater than":     func(o *Options) { o.PollPeriod = o.RenewDeadline },
		"leaseDuration must be greater than ren": func(o *Options) { o.LeaseDuration = o.RenewDeadline },
		"whole seconds":                          func(o *Options) { o.LeaseDuration += time.Millisecond },
	} {
		t.Run(want, func(t *testing.T) {
			o := options(&server{}, "a")
			change(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
		})
	}
}
