// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestALeaseIsFreeByTheClockOfTheOneThatWatchesIt(t *testing.T) {
	now := time.Unix(1000, 0)
	held := func(by string, renewed time.Time) *coordinationv1.Lease {
		stamp := metav1.NewMicroTime(renewed)
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(by), LeaseDurationSeconds: ptr.To(int32(15)), RenewTime: &stamp,
		}}
	}
	lasting := func(seconds *int32) *coordinationv1.Lease {
		lease := held("a", now)
		lease.Spec.LeaseDurationSeconds = seconds
		return lease
	}
	timeless := held("a", now)
	timeless.Spec.RenewTime = nil
	labeled := held("a", now)
	labeled.Labels = map[string]string{"x": "y"}
	for name, test := range map[string]struct {
		seen []*coordinationv1.Lease // one second apart
		want time.Duration           // at the last
	}{
		"never seen":                       {nil, 15 * time.Second},
		"there is none":                    {[]*coordinationv1.Lease{nil}, 0},
		"released":                         {[]*coordinationv1.Lease{held("", now)}, 0},
		"no holder at all":                 {[]*coordinationv1.Lease{{}, {}}, 14 * time.Second},
		"its holder was removed":           {[]*coordinationv1.Lease{held("a", now), {}}, 15 * time.Second},
		"its duration was removed":         {[]*coordinationv1.Lease{lasting(nil)}, 15 * time.Second},
		"a duration that is shorter":       {[]*coordinationv1.Lease{lasting(ptr.To(int32(1)))}, 15 * time.Second},
		"a negative duration":              {[]*coordinationv1.Lease{lasting(ptr.To(int32(-1)))}, 15 * time.Second},
		"a duration that is longer":        {[]*coordinationv1.Lease{lasting(ptr.To(int32(60)))}, time.Minute},
		"no times":                         {[]*coordinationv1.Lease{timeless, timeless}, 14 * time.Second},
		"held":                             {[]*coordinationv1.Lease{held("a", now)}, 15 * time.Second},
		"held by a clock of the past":      {[]*coordinationv1.Lease{held("a", now.Add(-time.Hour))}, 15 * time.Second},
		"held by a clock of the future":    {[]*coordinationv1.Lease{held("a", now.Add(time.Hour))}, 15 * time.Second},
		"not renewed":                      {[]*coordinationv1.Lease{held("a", now), held("a", now), held("a", now)}, 13 * time.Second},
		"renewed":                          {[]*coordinationv1.Lease{held("a", now), held("a", now.Add(1))}, 15 * time.Second},
		"touched, not renewed":             {[]*coordinationv1.Lease{held("a", now), labeled}, 14 * time.Second},
		"deleted":                          {[]*coordinationv1.Lease{held("a", now), held("a", now), nil, nil}, 12 * time.Second},
		"deleted after it had expired":     {append(slices.Repeat([]*coordinationv1.Lease{held("a", now)}, 20), nil), 0},
		"deleted after it was released":    {[]*coordinationv1.Lease{held("a", now), held("", now), nil}, 0},
		"deleted, and made by another one": {[]*coordinationv1.Lease{held("a", now), nil, held("b", now)}, 15 * time.Second},
		"deleted and held again":           {[]*coordinationv1.Lease{held("a", now), nil, held("a", now)}, 15 * time.Second},
		"another holder at the same time":  {[]*coordinationv1.Lease{held("a", now), held("b", now)}, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var seen observedLease
			at := now
			for i, lease := range test.seen {
				at = now.Add(time.Duration(i) * time.Second)
				seen = seen.update(lease, at, 15*time.Second)
			}
			if got := seen.expiresIn(at, 15*time.Second); got != test.want {
				t.Errorf("free in %s, want %s", got, test.want)
			}
		})
	}
}
