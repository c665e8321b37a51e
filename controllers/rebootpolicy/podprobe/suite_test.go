// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// suite is Checks in a bubble. A test chooses the addresses that are down.
type suite struct {
	*Checks

	t     *testing.T
	began time.Time

	mu            sync.Mutex
	down          map[netip.Addr]error
	dials         []string
	notifications []string
	answers       map[string]dns.Answer
}

// withSuite runs Checks in a bubble. Every random number is one half.
func withSuite(t *testing.T, act func(*suite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &suite{t: t, began: time.Now(), down: map[netip.Addr]error{}, answers: map[string]dns.Answer{}}
		s.Checks = New(Options{
			Dial: s.dial, Lookup: s.lookup, Rand: func() float64 { return 0.5 },
			Notify: func(policy types.NamespacedName) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.notifications = append(s.notifications, policy.Name)
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		act(s)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (s *suite) dial(_ context.Context, to egress.Query) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = append(s.dials, fmt.Sprintf("%s %s:%d", time.Since(s.began), to.IP, to.Port))
	if err := s.down[to.IP]; err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	_ = there.Close()
	return here, nil
}

func (s *suite) lookup(_ context.Context, name string, _ networkingv1.RecordType) dns.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[name]
}

// resolves has a name lead to addresses from now on, or nowhere.
func (s *suite) resolves(name string, all ...netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.NXDomain}, IPv6: dns.FamilyAnswer{Outcome: dns.NXDomain}}
	for _, ip := range all {
		a.IPv4.Outcome = dns.Resolved
		a.IPv4.Addresses = append(a.IPv4.Addresses, dns.Address{IP: ip})
	}
	s.answers[name] = a
}

// advance lets the bubble's clock run.
func (s *suite) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// fail has addresses fail from now on, or answer again where err is nil.
func (s *suite) fail(err error, all ...netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ip := range all {
		s.down[ip] = err
	}
}

// notified returns who was notified since the last call, each once.
func (s *suite) notified() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.notifications
	s.notifications = nil
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *suite) dialed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.dials
	s.dials = nil
	slices.Sort(all)
	return all
}

// expect demands a verdict on the workload "w" of the policy "p".
func (s *suite) expect(when string, want Result) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.Result(policy("p"), "wedged", "w")); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func policy(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func number(port int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(port)) }

func ip(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}) }

func pods(numbers ...int) []Pod {
	all := make([]Pod, 0, len(numbers))
	for _, n := range numbers {
		all = append(all, Pod{Name: fmt.Sprint("pod-", n), UID: types.UID(fmt.Sprint("uid-", n)), IP: ip(n), Port: 8080})
	}
	return all
}

// probe opens a TCP connection every 10s; three failures in a row and two successes decide.
func newProbe(change ...func(*autorebootv1.Probe)) *autorebootv1.Probe {
	p := &autorebootv1.Probe{
		Check: common.Check{
			TCPSocket: &common.TCPSocketAction{Port: number(8080)},
			Interval:  ptr.To(common.Duration("10s")), Timeout: ptr.To(common.Duration("2s")),
			FailureThreshold: ptr.To[int32](3), SuccessThreshold: ptr.To[int32](2),
		},
	}
	for _, c := range change {
		c(p)
	}
	return withDefaults(p)
}

// withDefaults sets what the reconciler sets before it asks for checks.
func withDefaults(p *autorebootv1.Probe) *autorebootv1.Probe {
	rules.Default(&autorebootv1.RebootPolicy{Spec: autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{Probe: p}}}})
	return p
}

func least(text string) func(*autorebootv1.Probe) {
	return func(p *autorebootv1.Probe) { p.MinUnhealthy = ptr.To(intstr.Parse(text)) }
}

func onHost(host string) func(*autorebootv1.Probe) {
	return func(p *autorebootv1.Probe) { p.Host = ptr.To(host) }
}

// of is a Want of the workload "w".
func of(p *autorebootv1.Probe, all []Pod) []Want {
	return []Want{{Trigger: "wedged", Workload: "w", Probe: p, Pods: all}}
}
