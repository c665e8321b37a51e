// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientprobe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var object = types.NamespacedName{Namespace: "shop", Name: "p"}

// suite is a Sender in a bubble, before a world that can be down.
type suite struct {
	*Sender
	t *testing.T

	mu              sync.Mutex
	down            error
	deaf            bool // the prober's changes are lost
	dials, notified int
}

func withSuite(t *testing.T, act func(*suite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &suite{t: t}
		prober := probe.New(probe.Options{
			Dial: Network{Dial: s.dial}.DialUnapproved, RequireThreshold: true, Group: Group, Rand: func() float64 { return 0.5 },
			Notify: func(key types.NamespacedName) {
				if !s.deaf {
					s.OnChange(key)
				}
			},
		})
		s.Sender = New(prober, func(types.NamespacedName) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notified++
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- prober.Run(ctx) }()
		act(s)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (s *suite) dial(context.Context, egress.Query) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials++
	if s.down != nil {
		return nil, s.down
	}
	here, there := net.Pipe()
	_ = there.Close()
	return here, nil
}

// advance lets the bubble's clock run while dials fail by err, and returns how many there were, and how often the object was
// notified of.
func (s *suite) advance(d time.Duration, err error) (dials, notified int) {
	s.mu.Lock()
	s.down, s.dials, s.notified = err, 0, 0
	s.mu.Unlock()
	<-time.After(d)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials, s.notified
}

// want returns a probe of 198.18.0.1:8080 each second, with maxFailures 1.
func want(name string) Want {
	list := []common.VerificationProbe{{Name: name, Host: "198.18.0.1", MaxFailures: ptr.To[int32](1),
		TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(8080))}}}
	rules.DefaultVerificationProbes(list)
	return Want{Probe: &list[0]}
}

func counts(name string, sent, failed int64) common.ProbeRequests {
	return common.ProbeRequests{Name: name, RequestCounts: common.RequestCounts{Sent: sent, Failed: failed}}
}

// expect sees what was counted for a disruption by the probe "shop".
func (s *suite) expect(when, id string, want requestcount.Requests) {
	s.t.Helper()
	for _, got := range s.Requests(object, id) {
		if got.Name == "shop" && got != want {
			s.t.Errorf("%s: %+v, want %+v", when, got, want)
		}
		if got.Name == "shop" {
			return
		}
	}
	s.t.Errorf("%s: nothing is counted", when)
}

func TestRequestsAreSentOnceForAllDisruptionsAndCountedForEach(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(object, []Want{want("shop")}, []Disruption{{ID: "a"}})
		s.advance(1500*time.Millisecond, nil)
		s.expect("two requests", "a", requestcount.Requests{ProbeRequests: counts("shop", 2, 0)})
		s.Set(object, []Want{want("shop")}, []Disruption{{ID: "a", Stored: []common.ProbeRequests{counts("shop", 90, 9)}},
			{ID: "b", Stored: []common.ProbeRequests{counts("other", 1, 1), counts("shop", 10, 1)}, Resumed: true}})
		dials, _ := s.advance(2*time.Second, syscall.ECONNREFUSED)
		if dials != 2 {
			t.Errorf("dialed %d times, want 2", dials)
		}
		s.expect("two fail", "a", requestcount.Requests{ProbeRequests: counts("shop", 4, 2)})
		s.expect("of one that another process began", "b", requestcount.Requests{ProbeRequests: counts("shop", 12, 3), Resumed: true})
		s.Set(object, []Want{want("shop")}, []Disruption{{ID: "b"}})
		if got := s.Requests(object, "a"); got != nil {
			t.Errorf("one that has ended is still counted: %+v", got)
		}
		s.expect("it stays", "b", requestcount.Requests{ProbeRequests: counts("shop", 12, 3), Resumed: true})
		s.Set(object, []Want{want("shop")}, nil)
		if dials, _ := s.advance(time.Minute, nil); dials > 0 || len(s.objects)+len(s.byKey) > 0 {
			t.Errorf("%d requests after the last disruption: %v", dials, s.objects)
		}
	})
}

func TestAProbeThatIsEditedKeepsItsCounts(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(object, []Want{want("shop")}, []Disruption{{ID: "a"}})
		s.advance(1500*time.Millisecond, nil)
		edited, again := want("shop"), []Disruption{{ID: "a", Stored: []common.ProbeRequests{counts("shop", 7, 7)}, Resumed: true}}
		edited.Probe.Host = "198.18.0.2"
		s.Set(object, []Want{edited, want("added")}, again)
		s.advance(1500*time.Millisecond, nil)
		s.expect("another host", "a", requestcount.Requests{ProbeRequests: counts("shop", 4, 0)})
		if got := s.Requests(object, "a"); len(got) != 2 || got[0] != (requestcount.Requests{ProbeRequests: counts("added", 2, 0)}) {
			t.Errorf("a probe that is added: %+v", got)
		}
		edited.Unsupported = common.ReasonSecretUnavailable
		s.Set(object, []Want{edited}, again)
		s.advance(time.Minute, nil)
		s.expect("nothing can be sent", "a", requestcount.Requests{ProbeRequests: counts("shop", 4, 0), NotSent: common.ReasonSecretUnavailable})
	})
}

func TestOnlyRequestsThatMayDecideAreNotified(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(object, []Want{want("shop")}, []Disruption{{ID: "a"}})
		span := 500 * time.Millisecond // between two requests
		for _, step := range []struct {
			what string
			fail error
			want bool
		}{
			{"the first fails", syscall.ECONNREFUSED, true}, {"the first that succeeds", nil, true}, {"one more", nil, false},
			{"one too many", syscall.ECONNREFUSED, true}, {"another", syscall.ECONNREFUSED, false}, {"a success", nil, false},
		} {
			if _, notified := s.advance(span, step.fail); notified > 0 != step.want {
				t.Errorf("%s: notified %d times", step.what, notified)
			}
			span = time.Second
		}
	})
}

// A reconcile reads the requests and calls Set later. What failed in between it has not seen.
func TestRequestsThatFailBeforeSetAreNotified(t *testing.T) {
	withSuite(t, func(s *suite) {
		s.Set(object, []Want{want("shop")}, []Disruption{{ID: "a"}})
		s.deaf = true
		s.advance(2500*time.Millisecond, syscall.ECONNREFUSED)
		s.deaf = false
		for _, expected := range []int{1, 0} {
			s.Set(object, []Want{want("shop")}, []Disruption{{ID: "a"}})
			if s.notified != expected {
				t.Errorf("notified %d times, want %d", s.notified, expected)
			}
			s.notified = 0
		}
	})
}

func TestWhatIsNotKnownOfTheClusterSaysNothingAboutAnAddress(t *testing.T) {
	reason := egress.ReasonUnsynced
	n := Network{Dial: func(_ context.Context, to egress.Query) (net.Conn, error) {
		if to.Authorized || to.Held {
			t.Error("the address has an approval")
		}
		return nil, &egress.DeniedError{Verdict: egress.Verdict{Reason: reason}}
	}}
	to := egress.Query{Namespace: "shop", IP: netip.MustParseAddr("192.0.2.1"), Port: 80, Authorized: true, Held: true}
	if _, err := n.DialUnapproved(t.Context(), to); !errors.Is(err, probe.ErrLocal) {
		t.Errorf("before the ranges are known: %v", err)
	}
	reason = egress.ReasonLoopback
	if _, err := n.DialUnapproved(t.Context(), to); !errors.Is(err, egress.ErrDenied) || errors.Is(err, probe.ErrLocal) {
		t.Errorf("the operator itself: %v", err)
	}
}

func TestAHostIsLookedUpInBothFamilies(t *testing.T) {
	family := func(addresses ...string) dns.FamilyAnswer {
		a := dns.FamilyAnswer{Outcome: dns.Resolved}
		for _, ip := range addresses {
			a.Addresses = append(a.Addresses, dns.Address{IP: netip.MustParseAddr(ip)})
		}
		return a
	}
	n := Network{Lookup: func(_ context.Context, name string, _ networkingv1.RecordType) dns.Answer {
		if name == "nowhere" {
			return dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.NXDomain}, IPv6: dns.FamilyAnswer{Outcome: dns.NXDomain}}
		}
		return dns.Answer{IPv4: family("192.0.2.1", "192.0.2.2"), IPv6: family("2001:db8::1")}
	}}
	all, err := n.LookupAll(t.Context(), "shop.example.com")
	if err != nil || len(all) != 3 || all[1].String() != "2001:db8::1" {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := n.LookupAll(t.Context(), "nowhere"); err == nil {
		t.Errorf("nowhere is at %v", all)
	}
	if all, err := (Network{}).LookupAll(t.Context(), "shop.example.com"); err == nil {
		t.Errorf("without a resolver: %v", all)
	}
}
