// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// epoch is the time at which tests happen.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestHowLongANameHasResolvedAsFarAsIsKnown(t *testing.T) {
	day := &metav1.Time{Time: epoch.Add(-24 * time.Hour)}
	for name, test := range map[string]struct {
		status networkingv1.EndpointStatus
		want   time.Time
	}{
		"until now, where it had not failed":       {networkingv1.EndpointStatus{ResolvedTime: day, Reason: networkingv1.ReasonResolved}, epoch},
		"until it failed":                          {networkingv1.EndpointStatus{ResolvedTime: day, Reason: networkingv1.ReasonStale}, day.Time},
		"until now, where the clock was ahead":     {networkingv1.EndpointStatus{ResolvedTime: &metav1.Time{Time: epoch.Add(time.Hour)}, Reason: networkingv1.ReasonStale}, epoch},
		"never, where it is kept for what it took": {networkingv1.EndpointStatus{Reason: networkingv1.ReasonStale}, time.Time{}},
	} {
		if got := resolvedTime(&test.status, epoch); !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
