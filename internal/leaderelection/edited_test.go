// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"math"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// A leader finds out at its next renewal, up to a retry period later, what another writer did to its Lease.
func TestALeaseWithoutAMemberIsNotTakenWhileItsHolderStillActs(t *testing.T) {
	for name, edit := range map[string]func(*coordinationv1.LeaseSpec){
		"duration":    func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil },
		"zero":        func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = ptr.To(int32(0)) },
		"short":       func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = ptr.To(int32(1)) },
		"times":       func(s *coordinationv1.LeaseSpec) { s.RenewTime, s.AcquireTime = nil, nil },
		"transitions": func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = nil },
		"holder":      func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = nil },
		"all":         func(s *coordinationv1.LeaseSpec) { *s = coordinationv1.LeaseSpec{} },
	} {
		for when, early := range map[string]bool{"seen": true, "new to the candidate": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				s, clock := &server{}, newClock()
				a := start(t, options(s, clock, "a"))
				leads(t, a)
				var b *replica
				if early {
					b = start(t, options(s, clock, "b"))
					eventually(t, "b has seen a", func() bool { return b.Status() == "a" && s.watched() == 1 })
				}
				s.edit(func(l *coordinationv1.Lease) { edit(&l.Spec) })
				if !early {
					b = start(t, options(s, clock, "b"))
				}
				edited := s.updated()
				eventually(t, "b has read the edited Lease", func() bool {
					return s.holder() == "b" || s.watched() == 1 && clock.Waiters() >= 3
				})
				for range 19 { // a renews after 2 s
					clock.Step(100 * time.Millisecond)
					if a.Check() == nil && b.Check() == nil {
						t.Fatal("two replicas lead")
					}
					if s.holder() == "b" {
						t.Fatal("b took the Lease, which a still renews")
					}
				}
				if s.updated() != edited {
					t.Fatalf("the Lease was written %d times before the renewal", s.updated()-edited)
				}
			})
		}
	}
}

func TestALeaseWhoseTransitionsCannotBeCountedFurtherIsTaken(t *testing.T) {
	for _, transitions := range []*int32{nil, ptr.To(int32(-5)), ptr.To(int32(math.MaxInt32))} {
		s, clock := &server{}, newClock()
		dead, err := New(options(s, clock, "dead"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dead.acquire(t.Context(), nil, 15); err != nil {
			t.Fatal(err)
		}
		s.edit(func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.LeaseTransitions = ptr.To(""), transitions
		})
		leads(t, start(t, options(s, clock, "b")))
		if got := *s.lease.Spec.LeaseTransitions; got <= 0 {
			t.Errorf("%d transitions, which the API server refuses", got)
		}
	}
}
