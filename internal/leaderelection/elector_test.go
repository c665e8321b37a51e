// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection"
)

func TestTheLeaseIsReleasedAfterTheWorkHasEndedAndRenewedUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := start(t, options(s, "a"))
		ctx := leads(t, r)
		synctest.Wait()
		if r.Check() != nil || s.holder() != "a" || !strings.Contains(r.Status(), "this replica") {
			t.Fatalf("check %v, holder %q, status %q", r.Check(), s.holder(), r.Status())
		}
		r.stop()
		<-ctx.Done()
		pass(29 * time.Second) // much longer than the Lease
		if s.holder() != "a" || r.Check() != nil {
			t.Fatalf("holder %q while the work still runs; check %v", s.holder(), r.Check())
		}
		s.edit(func(lease *coordinationv1.Lease) { lease.Labels = map[string]string{"by": "a user"} })
		if err := finish(t, r, nil); err != nil {
			t.Fatal(err)
		}
		if s.holder() != "" || r.Check() == nil {
			t.Errorf("holder %q after release", s.holder())
		}
	})
}

func TestALeaderWritesOnceInEachRetryPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		leads(t, start(t, options(s, "a")))
		pass(100 * time.Second)
		if s.writes < 46 || s.writes > 51 || s.reads > 1 {
			t.Errorf("%d writes and %d reads in 100 s", s.writes, s.reads)
		}
	})
}

func TestAStandbyTakesAReleasedLeaseAtItsNextRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := start(t, options(s, "a"))
		leads(t, a)
		b := start(t, options(s, "b"))
		pass(5 * time.Second)
		if b.Status() != "a" {
			t.Errorf("b sees %q", b.Status())
		}
		a.stop()
		if err := finish(t, a, nil); err != nil {
			t.Fatal(err)
		}
		released := time.Now()
		leads(t, b)
		if took := time.Since(released); took > 220*poll/100 {
			t.Errorf("taken after %s", took)
		}
		if s.holder() != "b" || *s.stored().Spec.LeaseTransitions != 1 {
			t.Errorf("holder %q, transitions %d", s.holder(), *s.stored().Spec.LeaseTransitions)
		}
	})
}

func TestAStandbyTakesOverFromASilentLeaderWhenTheLeaseRunsOutAndNotBefore(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*coordinationv1.Lease) // nil: it is deleted
		want time.Duration               // after the Lease was read
	}{
		"silent":                     {func(*coordinationv1.Lease) {}, 15 * time.Second},
		"its duration is longer":     {func(l *coordinationv1.Lease) { *l.Spec.LeaseDurationSeconds = 60 }, time.Minute},
		"its duration is shorter":    {func(l *coordinationv1.Lease) { *l.Spec.LeaseDurationSeconds = 1 }, 15 * time.Second},
		"its duration was removed":   {func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil }, 15 * time.Second},
		"its holder was removed":     {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, 15 * time.Second},
		"everything was removed":     {func(l *coordinationv1.Lease) { l.Spec = coordinationv1.LeaseSpec{} }, 15 * time.Second},
		"a clock of the past":        {func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = time.Unix(0, 0) }, 15 * time.Second},
		"a clock of the future":      {func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = time.Now().Add(time.Hour) }, 15 * time.Second},
		"transitions below 0":        {func(l *coordinationv1.Lease) { *l.Spec.LeaseTransitions = -5 }, 15 * time.Second},
		"transitions at their limit": {func(l *coordinationv1.Lease) { *l.Spec.LeaseTransitions = 1<<31 - 1 }, 15 * time.Second},
		"held by its own name":       {func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "b" }, 15 * time.Second},
		"released":                   {func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{lease: held("dead")}
				s.edit(test.edit)
				began := time.Now()
				leads(t, start(t, options(s, "b")))
				if took := time.Since(began); took < test.want || took > test.want+220*poll/100 {
					t.Errorf("taken over after %s, want %s", took, test.want)
				}
			})
		})
	}
}

// A renewal within the same second is one.
func TestTheTimeOfALeaseCountsFromItsLastRenewalAndGoesOnWhereItIsTouchedOrDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		disturb func(*server)
		want    time.Duration // from 10.5 s on
	}{
		"renewed": {func(s *server) {
			s.edit(func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = l.Spec.RenewTime.Add(time.Millisecond) })
		}, 15 * time.Second},
		"labeled": {func(s *server) {
			s.edit(func(l *coordinationv1.Lease) { l.Labels = map[string]string{"x": "y"} })
		}, 4500 * time.Millisecond},
		"deleted":       {func(s *server) { s.remove() }, 4500 * time.Millisecond},
		"created again": {func(s *server) { s.remove(); pass(time.Second); s.lease = held("c") }, 16 * time.Second},
		"released, unseen, and deleted": {func(s *server) {
			s.edit(func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "" })
			s.remove()
		}, 4500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{lease: held("dead")}
				b := start(t, options(s, "b"))
				pass(10500 * time.Millisecond)
				began := time.Now()
				test.disturb(s)
				leads(t, b)
				if took := time.Since(began); took < test.want || took > test.want+440*poll/100 {
					t.Errorf("taken over after %s, want %s", took, test.want)
				}
			})
		})
	}
}

// A leader finds out at its next renewal, up to a retry period later, what another writer did to its Lease.
func TestALeaseThatIsEditedIsNotTakenWhileItsHolderStillActs(t *testing.T) {
	for name, edit := range map[string]func(*coordinationv1.LeaseSpec){
		"duration":    func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil },
		"zero":        func(s *coordinationv1.LeaseSpec) { *s.LeaseDurationSeconds = 0 },
		"times":       func(s *coordinationv1.LeaseSpec) { s.RenewTime = nil },
		"transitions": func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = nil },
		"holder":      func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = nil },
		"all":         func(s *coordinationv1.LeaseSpec) { *s = coordinationv1.LeaseSpec{} },
	} {
		for when, early := range map[string]bool{"seen": true, "new to the candidate": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &server{}
					a := start(t, options(s, "a"))
					leads(t, a)
					var b *replica
					if early {
						b = start(t, options(s, "b"))
					}
					pass(5 * time.Second)
					s.edit(func(l *coordinationv1.Lease) { edit(&l.Spec) })
					if !early {
						b = start(t, options(s, "b"))
					}
					for range 400 {
						pass(100 * time.Millisecond)
						if a.Check() == nil && b.Check() == nil {
							t.Fatal("two replicas lead")
						}
					}
					if lost := name == "holder" || name == "all"; lost != (a.Check() != nil) || lost != (b.Check() == nil) {
						t.Errorf("a: %v, b: %v", a.Check(), b.Check())
					}
				})
			})
		}
	}
}

var errAway = apierrors.NewInternalError(errors.New("etcd is gone"))

func TestALeaderThatCannotRenewStopsAtTheDeadline(t *testing.T) {
	refuses := func(context.Context, string) error { return errAway }
	hangs := func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	for name, broken := range map[string]func(context.Context, string) error{"refused": refuses, "hanging": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				r := start(t, options(s, "a"))
				ctx := leads(t, r)
				pass(5 * time.Second)
				renewed := s.stored().Spec.RenewTime.Time
				s.fail(&s.before, broken)
				pass(time.Until(renewed.Add(10*time.Second - time.Millisecond)))
				if ctx.Err() != nil || r.Check() != nil {
					t.Fatal("stopped before the deadline")
				}
				pass(2 * time.Millisecond)
				if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) || errors.Is(cause, ErrTaken) || r.Check() == nil {
					t.Errorf("cause %v, check %v", cause, r.Check())
				}
				s.fail(&s.before, nil)
				pass(time.Second)
				if err := finish(t, r, context.Canceled); !errors.Is(err, ErrLost) || err.Error() != "leader election lost: not renewed for 10s" {
					t.Errorf("error %v", err)
				}
				if lease := s.stored(); s.holder() != "a" || !lease.Spec.RenewTime.Time.Equal(renewed) {
					t.Errorf("a lost Lease was touched: %+v", lease.Spec)
				}
			})
		})
	}
}

func TestAnOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lines := &server{lease: held("dead")}, atomic.Int32{}
		s.before = func(context.Context, string) error { return errAway }
		o := options(s, "a")
		o.Logger = funcr.New(func(_, line string) {
			if strings.Contains(line, "etcd is gone") {
				lines.Add(1)
			}
		}, funcr.Options{})
		r := start(t, o)
		pass(time.Hour)
		s.fail(&s.before, nil)
		leads(t, r)
		if lines.Load() != 1 {
			t.Errorf("%d lines", lines.Load())
		}
	})
}

// Go's clock stands still while a machine sleeps, and timers fire late in a process that was stopped.
func TestWhoHasSleptPastTheDeadlineMayNotActThoughNoTimerHasFired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		o := options(s, "a")
		var slept atomic.Int64
		awake := o.Elapsed
		o.Elapsed = func() time.Duration { return awake() + time.Duration(slept.Load()) }
		r := start(t, o)
		ctx := leads(t, r)
		pass(time.Second)
		slept.Store(int64(9*time.Second - 1))
		if err := r.Check(); err != nil {
			t.Errorf("before the deadline: %v", err)
		}
		slept.Store(int64(69 * time.Second))
		if err := r.Check(); !errors.Is(err, ErrNotLeading) || !strings.Contains(err.Error(), "1m0s ago") || ctx.Err() != nil {
			t.Errorf("after the sleep: %v", err)
		}
		// No other replica has taken the Lease meanwhile: the next renewal is as good as ever.
		pass(2 * time.Second)
		if err := r.Check(); err != nil {
			t.Errorf("after the renewal: %v", err)
		}
		r.stop()
		if err := finish(t, r, nil); err != nil || r.Check() == nil {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestAnAnswerThatComesTooLateIsNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		o := options(s, "a")
		var slept atomic.Int64
		awake := o.Elapsed
		o.Elapsed = func() time.Duration { return awake() + time.Duration(slept.Load()) }
		s.after = func(_ context.Context, verb string) error {
			if verb == "create" {
				slept.Store(int64(11 * time.Second))
			}
			return nil
		}
		r := start(t, o)
		synctest.Wait()
		if len(r.working) > 0 || r.Check() == nil || s.holder() != "a" {
			t.Errorf("it leads: %v", r.Check())
		}
		leads(t, r) // by its next write
	})
}

func TestALeaderWhoseLeaseIsTakenStopsAtTheNextRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := start(t, options(s, "a"))
		ctx := leads(t, r)
		s.edit(func(lease *coordinationv1.Lease) { *lease.Spec.HolderIdentity = "usurper" })
		pass(2*time.Second + 2*poll)
		if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) || !errors.Is(cause, ErrTaken) || r.Check() == nil {
			t.Errorf("cause %v", cause)
		}
		if err := finish(t, r, nil); !errors.Is(err, ErrLost) {
			t.Errorf("error %v", err)
		}
		if s.holder() != "usurper" {
			t.Errorf("holder %q", s.holder())
		}
	})
}

func TestALeaderKeepsALeaseThatWasTouchedButNotTaken(t *testing.T) {
	lostOnce := func(s *server) {
		s.fail(&s.after, func(_ context.Context, verb string) error {
			if verb == "get" {
				return nil
			}
			s.fail(&s.after, nil)
			return errAway
		})
	}
	for name, disturb := range map[string]func(*server){
		"labeled": func(s *server) {
			s.edit(func(lease *coordinationv1.Lease) { lease.Labels = map[string]string{"x": "y"} })
		},
		"deleted":        func(s *server) { s.remove() },
		"an answer lost": lostOnce,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				lostOnce(s) // the first
				r := start(t, options(s, "a"))
				ctx := leads(t, r)
				pass(5 * time.Second)
				disturb(s)
				for range 200 {
					pass(100 * time.Millisecond)
					if ctx.Err() != nil || r.Check() != nil {
						t.Fatalf("lost: %v", context.Cause(ctx))
					}
				}
				if s.holder() != "a" {
					t.Errorf("holder %q", s.holder())
				}
			})
		})
	}
}

func TestAnErrorOrAPanicOfTheWorkReleasesTheLease(t *testing.T) {
	broken := errors.New("cache broke")
	for name, work := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return broken },
		"panic": func(context.Context) error { panic(broken) }, //nolint:forbidigo // what it tests
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				e, err := New(options(s, "a"))
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Run(context.Background(), work); err == nil || !strings.Contains(err.Error(), broken.Error()) {
					t.Errorf("error %v", err)
				}
				if s.lease == nil || s.holder() != "" {
					t.Errorf("not released: %v", s.lease)
				}
			})
		})
	}
}

func TestAPanicInARequestEndsTheElectionWithAnError(t *testing.T) {
	for name, leading := range map[string]bool{"a candidate": false, "a leader": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				breaks := func(context.Context, string) error { panic("a defect") } //nolint:forbidigo // what it tests
				if !leading {
					s.before = breaks
				}
				r := start(t, options(s, "a"))
				if leading {
					leads(t, r)
					s.fail(&s.before, breaks)
					if err := finish(t, r, nil); !errors.Is(err, ErrLost) || r.Check() == nil {
						t.Errorf("error %v, check %v", err, r.Check())
					}
				} else if err := ends(t, r); !errors.Is(err, errEnded) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestTwoReplicasOfOneNameDoNotBothLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := start(t, options(s, "same"))
		leads(t, a)
		b := start(t, options(s, "same"))
		pass(time.Minute)
		if a.Check() != nil || b.Check() == nil {
			t.Fatalf("a: %v, b: %v", a.Check(), b.Check())
		}
		a.stop()
		if err := finish(t, a, nil); err != nil {
			t.Fatal(err)
		}
		leads(t, b)
	})
}

// A Manager has its own elector, which releases through the lock.
func TestTheElectorOfAManagerWaitsUntilItMayLeadAndReleasesTheLease(t *testing.T) {
	for name, life := range map[string]bool{"lease": false, "for life": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ready := &server{}, make(chan struct{})
				o := options(s, "a")
				if life {
					o = lifeOptions(s, pods(t, "a"), "a", "a")
				}
				o.Ready = ready
				l, err := NewLock(o)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.FindPod(t.Context()); err != nil {
					t.Fatal(err)
				}
				leads := make(chan struct{})
				elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
					Lock: l, LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.PollPeriod, ReleaseOnCancel: true,
					Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() {}},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); elector.Run(ctx) }()
				pass(time.Minute)
				if s.reads+s.writes > 0 {
					t.Error("it takes part before it could lead")
				}
				close(ready)
				<-leads
				pass(time.Minute)
				if l.Check() != nil || s.holder() != "a" {
					t.Fatalf("holder %q, check %v", s.holder(), l.Check())
				}
				s.edit(func(lease *coordinationv1.Lease) { lease.Labels = map[string]string{"by": "a user"} })
				cancel()
				<-ended
				if lease := s.stored(); s.holder() != "" || len(lease.OwnerReferences) > 0 || l.Check() == nil || l.Status() != "none yet" {
					t.Errorf("%+v, check %v, status %q", lease, l.Check(), l.Status())
				}
			})
		})
	}
}
