// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
)

const (
	single = `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1]}]}`
	pair   = `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}]}`
)

// flap has an address turn so many times, every 1.5 s, and ends with it up where that is even. It
// returns how many writes there were.
func (s *suite) flap(ip string, turns int) int {
	s.Helper()
	s.writes = nil
	for i := range turns {
		s.advance(1500 * time.Millisecond)
		state := down
		if i%2 == 1 {
			state = up
		}
		s.health.setHealth("a", ip, state)
		s.reconcileOnce()
	}
	return len(s.writes)
}

// reconcileAfter has time pass in steps as the reconciler asks for, and reconciles.
func (s *suite) reconcileAfter(d time.Duration) {
	s.Helper()
	for end := s.now.Add(d); s.now.Before(end); {
		again := s.reconcileOnce().RequeueAfter
		if again == 0 || s.now.Add(again).After(end) {
			again = end.Sub(s.now)
		}
		s.advance(again)
	}
	s.reconcileOnce()
}

func newStartedSuite(t *testing.T, spec string, ips ...string) *suite {
	t.Helper()
	s := newSuite(t, spec)
	s.reconcileOnce()
	for _, ip := range ips {
		s.health.setHealth("a", ip, up)
	}
	s.reconcileOnce()
	s.events = nil
	return s
}

func TestAnAddressThatFlapsAloneStaysPublished(t *testing.T) {
	s := newStartedSuite(t, single, "192.0.2.1")
	if writes := s.flap("192.0.2.1", 40); writes > 14 {
		t.Errorf("%d writes of slices and status: %q", writes, s.writes)
	}
	s.wantPublished("192.0.2.1+")
	// There is nothing better than the last good address; but what stays down is down.
	s.advance(time.Second)
	s.health.setHealth("a", "192.0.2.1", down)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.reconcileAfter(maxUnhealthyHold)
	s.wantPublished("192.0.2.1")
	s.wantCondition("Healthy", "False NoneHealthy")
	// And what is up again while nothing else is counts at once.
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
}

func TestTheFirstFallsCountAtOnce(t *testing.T) {
	s := newStartedSuite(t, pair, "192.0.2.1", "192.0.2.2")
	for range 2 {
		s.flap("192.0.2.1", 1)
		s.wantPublished("192.0.2.1 192.0.2.2+")
		s.advance(time.Second)
		s.health.setHealth("a", "192.0.2.1", up)
		s.reconcileOnce()
		s.wantPublished("192.0.2.1+ 192.0.2.2+")
	}
}

func TestAnAddressThatFlapsBesideAGoodOneIsOutUntilItIsSteady(t *testing.T) {
	s := newStartedSuite(t, pair, "192.0.2.1", "192.0.2.2")
	if writes := s.flap("192.0.2.1", 40); writes > 14 {
		t.Errorf("%d writes of slices and status: %q", writes, s.writes)
	}
	s.wantPublished("192.0.2.1 192.0.2.2+")
	message := meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionHealthy).Message
	if !strings.Contains(message, "1 address changes too often") {
		t.Error(message)
	}
	s.reconcileAfter(3*time.Minute - 2*time.Second)
	s.wantPublished("192.0.2.1 192.0.2.2+")
	s.reconcileAfter(3 * time.Second)
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
	s.wantCondition("Healthy", "True AllHealthy")
	s.reconcileAfter(time.Hour)
	message = meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionHealthy).Message
	if strings.Contains(message, "too often") {
		t.Error(message)
	}
}

func TestAnAddressThatIsHeldComesBackWhenNothingElseIsHealthy(t *testing.T) {
	s := newStartedSuite(t, pair, "192.0.2.1", "192.0.2.2")
	s.flap("192.0.2.1", 20)
	s.wantPublished("192.0.2.1 192.0.2.2+")
	s.health.setHealth("a", "192.0.2.2", down)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2")
}

func TestTwoAddressesThatTakeTurnsStay(t *testing.T) {
	s := newStartedSuite(t, pair, "192.0.2.1", "192.0.2.2")
	s.writes = nil
	for i := range 40 {
		s.advance(1500 * time.Millisecond)
		one, other := up, down
		if i%2 == 1 {
			one, other = down, up
		}
		s.health.setHealth("a", "192.0.2.1", one)
		s.health.setHealth("a", "192.0.2.2", other)
		s.reconcileOnce()
	}
	if len(s.writes) > 20 {
		t.Errorf("%d writes: %q", len(s.writes), s.writes)
	}
	s.wantPublished("192.0.2.1+ 192.0.2.2+")
}

func TestFailoverFromWhatFlapsIsPrompt(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("b", "198.51.100.1", up)
	s.reconcileOnce()
	s.flap("192.0.2.1", 21)
	s.wantPublished("198.51.100.1+")
	// The spec of a user waits for nothing either.
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port = 5433 })
	s.reconcileOnce()
	if got := mustService(s).Spec.Ports[0].Port; got != 5433 {
		t.Errorf("port %d", got)
	}
}

func TestANameThatLeadsElsewhereAllTheTimeIsFollowedAtAPace(t *testing.T) {
	s := newSuite(t, byName)
	s.writes = nil
	const seconds = 450
	for i := range seconds {
		s.names.answers["db.example.com"] = []string{"192.0.2." + string("0123456789"[i%10]), "192.0.2.100"}
		s.advance(time.Second)
		s.reconcileOnce()
	}
	if len(s.writes) > 150 {
		t.Errorf("%d writes in %d s", len(s.writes), seconds)
	}
	// What the policy refuses goes at once.
	s.policy["192.0.2.100"] = "Denied"
	s.reconcileOnce()
	if strings.Contains(s.published(), "192.0.2.100") {
		t.Errorf("published %s", s.published())
	}
	s.reconcileAfter(time.Minute)
	s.wantPublished("192.0.2.9+")
}

func TestAMessageIsCutBetweenCharacters(t *testing.T) {
	s := newSuite(t, plain)
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses[0] = networkingv1.IPAddress(strings.Repeat("€", 400))
		es.Spec.Endpoints[0].Zone = ptr.To("x" + strings.Repeat("€", 400))
	})
	s.reconcileOnce()
	s.wantCondition("Ready", "False InvalidSpec")
	s.reconcileUnchanged("a message that is cut")
}

func TestPortsOfOneShortDigestAreApart(t *testing.T) {
	spec := &networkingv1.ExternalServiceSpec{Ports: []networkingv1.ServicePort{{Name: "sql", Port: 5432, Protocol: ptr.To(corev1.ProtocolTCP)}}}
	one, other := endpoints.PortSetOf(spec, nil, 1111), endpoints.PortSetOf(spec, nil, 2222)
	other.ShortDigest = one.ShortDigest
	candidates := func(ports *endpoints.PortSet, ip string) failover.Published {
		return failover.Published{Candidate: &failover.Candidate{IP: parseAddress(ip).IP, Ports: ports}, IsReady: true}
	}
	first, second := candidates(one, "192.0.2.1"), candidates(other, "192.0.2.1")
	if one.Digest > other.Digest {
		first, second = second, first
	}
	wanted := publication.Pack("db", nil, []failover.Published{first, second})
	if len(wanted) != 2 || wanted[0].Name == wanted[1].Name || *wanted[0].Ports[0].Port == *wanted[1].Ports[0].Port {
		t.Errorf("%+v", wanted)
	}
}

func TestWhatOfAnAnswerIsLeftOutIsTold(t *testing.T) {
	s := newSuite(t, byName)
	s.names.answers["db.example.com"] = []string{"192.0.2.1", "192.0.2.2"}
	s.policy["192.0.2.2"] = "Denied"
	s.names.left = resolution.State{Surplus: 50, Denied: 1, UnusedTargets: 8, Partial: true}
	s.reconcileOnce()
	s.wantCondition("Resolved", "True AllNamesResolved")
	message := meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionResolved).Message
	for _, part := range []string{"1 name resolves; ", "2 of at least 52 are published", "the egress policy refuses 1 of 2 addresses", "1 SRV target is refused", "16 of 24 SRV targets", "the answer is not complete: "} {
		if !strings.Contains(message, part) {
			t.Errorf("%q lacks %q", message, part)
		}
	}
	s.wantEvents("Published", networkingv1.EventAddressesLeftOut, networkingv1.EventAddressDenied, networkingv1.EventAddressDenied)
	s.reconcileUnchanged("told")

	s.names.reasons["db.example.com"] = networkingv1.ReasonStale
	for reason, part := range map[string]string{networkingv1.ReasonTruncated: "cannot be reached by TCP on port 53", networkingv1.ReasonAliasLoop: "its aliases form a loop"} {
		e := &endpoints.Endpoint{Name: "a", DNS: s.object().Spec.Endpoints[0].DNS}
		if message := e.ResolveMessage(reason); !strings.Contains(message, part) {
			t.Error(message)
		}
	}
	s.names.left = resolution.State{Failed: "AAAA", Kept: 1}
	s.reconcileOnce()
	message = meta.FindStatusCondition(s.object().Status.Conditions, networkingv1.ConditionResolved).Message
	if !strings.HasSuffix(message, "resolves, except for its AAAA records (Timeout); 1 last address is kept") {
		t.Error(message)
	}
}

// Whatever turns when: some address is ready where one is healthy, writes are few, and in the end
// everything is as it was found.
func TestWhateverFlapsSomethingGoodIsPublished(t *testing.T) {
	ips := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := newStartedSuite(t, strings.Replace(pair, "192.0.2.2]", "192.0.2.2, 192.0.2.3]", 1), ips...)
		s.writes = nil
		chance := 1 + random.IntN(4)
		for range 600 {
			s.advance(time.Second)
			healthy := 0
			for _, ip := range ips {
				if random.IntN(4) < chance {
					state := down
					if random.IntN(2) == 0 {
						state = up
					}
					if s.health.known["a"+ip].State != state {
						s.health.setHealth("a", ip, state)
					}
				}
				if s.health.known["a"+ip].State == up {
					healthy++
				}
			}
			s.reconcileOnce()
			if healthy > 0 && !strings.Contains(s.published(), "+") {
				t.Fatalf("seed %d: nothing is ready of %d healthy addresses", seed, healthy)
			}
		}
		if len(s.writes) > 300 { // of slices and statuses, in ten minutes of a change a second
			t.Errorf("seed %d: %d writes", seed, len(s.writes))
		}
		for _, ip := range ips {
			s.health.setHealth("a", ip, up)
		}
		s.health.setHealth("a", ips[0], down)
		s.reconcileAfter(10 * time.Minute)
		s.wantPublished("192.0.2.1 192.0.2.2+ 192.0.2.3+")
		s.reconcileUnchanged("in the end")
	}
}

func TestANewObjectIsWrittenOnceItsAddressesAreChecked(t *testing.T) {
	s := newSuite(t, `{ports: [{name: sql, port: 5432}], healthCheck: {tcpSocket: {}}, endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}, {name: b, priority: 1, addresses: [198.51.100.1]}]}`)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.reconcileUnchanged("one of three results")
	s.health.setHealth("a", "192.0.2.2", down)
	s.reconcileUnchanged("two of three results")
	s.health.setHealth("b", "198.51.100.1", up)
	s.writes = nil
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2")
	if len(s.writes) != 2 {
		t.Errorf("written: %q, want one slice and one status", s.writes)
	}
	s.reconcileUnchanged("another look")
}

func TestASilentAddressHoldsANewObjectForASecondOnly(t *testing.T) {
	s := newSuite(t, tiered)
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	if left := s.reconcileUnchanged("no result of the backup").RequeueAfter; left != firstProbeHold {
		t.Errorf("waits %s", left)
	}
	s.advance(firstProbeHold)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
}

func TestOtherAddressesOfANameArePublishedOnceTheyAreChecked(t *testing.T) {
	s := newSuite(t, checked)
	s.names.answers["db.example.com"] = []string{"192.0.2.1", "192.0.2.2"}
	s.reconcileOnce()
	s.health.setHealth("a", "192.0.2.1", up)
	s.health.setHealth("a", "192.0.2.2", up)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+ 192.0.2.2+")

	s.advance(time.Hour)
	s.names.answers["db.example.com"] = []string{"192.0.2.8", "192.0.2.9"}
	s.reconcileUnchanged("addresses without a result")
	s.health.setHealth("a", "192.0.2.8", up)
	s.reconcileUnchanged("one result of two")
	s.health.setHealth("a", "192.0.2.9", up)
	s.writes = nil
	s.reconcileOnce()
	s.wantPublished("192.0.2.8+ 192.0.2.9+")
	if len(s.writes) != 2 {
		t.Errorf("written: %q, want one slice and one status", s.writes)
	}

	s.names.answers["db.example.com"] = []string{"192.0.2.8", "192.0.2.9", "192.0.2.10"}
	s.reconcileUnchanged("a third address without a result")
	s.health.setHealth("a", "192.0.2.8", down)
	s.reconcileOnce()
	s.wantPublished("192.0.2.10 192.0.2.8 192.0.2.9+")
}
