// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// epoch is the time at which tests of decisions happen.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var somePorts = &endpoints.PortSet{Digest: "0"}

// parseCandidates reads "0:hhu? 1:h" as two healthy, an unhealthy and an unknown address of priority 0 and
// a healthy one of priority 1. Each has been so for an hour, except for the unknown, which were just
// seen. "!" is one that was never checked and is long overdue, "n" is healthy since a minute ago.
func parseCandidates(text string) []Candidate {
	var out []Candidate
	for _, part := range strings.Fields(text) {
		priority := int32(part[0] - '0')
		for i, letter := range part[2:] {
			m := Candidate{Priority: priority, IP: netip.AddrFrom4([4]byte{192, 0, byte(priority), byte(i)}), Ports: somePorts, since: epoch.Add(-time.Hour)}
			switch letter {
			case 'h':
				m.Health = networkingv1.AddressHealthy
			case 'n':
				m.Health, m.since = networkingv1.AddressHealthy, epoch.Add(-time.Minute)
			case 'u':
				m.Health = networkingv1.AddressUnhealthy
			case '?':
				m.Health, m.since = networkingv1.AddressUnknown, epoch
			case '!':
				m.Health = networkingv1.AddressUnknown
			}
			out = append(out, m)
		}
	}
	return out
}

// show writes a decision as the priority and a letter for each address: R for ready.
func show(d Choice) string {
	if d.Active == nil {
		return "nothing"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d:", *d.Active)
	for _, p := range d.Published {
		text.WriteByte(map[bool]byte{true: 'R', false: '-'}[p.IsReady])
	}
	if d.IsPanicking {
		text.WriteString(" panic")
	}
	if d.PendingFailback != nil {
		fmt.Fprintf(&text, " pending %d", *d.PendingFailback)
	}
	if d.failbackHandled {
		text.WriteString(" handled")
	}
	if !d.RequeueAt.IsZero() {
		fmt.Fprintf(&text, " in %s", d.RequeueAt.Sub(epoch))
	}
	return text.String()
}

func base() criteria {
	return criteria{now: epoch, isChecked: true, minHealthy: 1, failbackDelay: 5 * time.Minute, firstProbeGrace: 12 * time.Second}
}

func TestDecide(t *testing.T) {
	at := func(priority int32) func(*criteria) {
		return func(in *criteria) { in.active = ptr.To(priority) }
	}
	percent := func(n int) func(*criteria) { return func(in *criteria) { in.minHealthy = n } }
	panicking := func(in *criteria) { in.panicThreshold = 1 }
	inPanic := func(in *criteria) { in.panicThreshold, in.isPanicking = 1, true }
	suspect := func(in *criteria) { in.isSuspect = true }
	manual := func(in *criteria) { in.manualFailback = true }
	asked := func(in *criteria) { in.failbackRequested = true }
	unchecked := func(in *criteria) { in.isChecked = false }
	lapsed := func(in *criteria) { in.qualifiedSince[0] = epoch.Add(-2 * time.Minute) }
	for _, in := range []struct {
		name, candidates, want string
		with                   []func(*criteria)
	}{
		{"nothing at all", "", "nothing", nil},
		{"healthy ones are ready", "0:huh", "0:R-R", nil},
		{"without a check all are", "0:!! 1:!", "0:RR", []func(*criteria){unchecked}},
		{"a lower priority that appears is taken at once without a check", "0:! 1:!", "0:R", []func(*criteria){unchecked, at(1)}},

		{"first publication: the lowest that qualifies", "0:h 1:h", "0:R", nil},
		{"first publication waits for results", "0:? 1:h", "0:- in 12s", nil},
		{"first publication does not wait for ever", "0:! 1:h", "1:R", nil},
		{"first publication goes on when one is known to be bad", "0:u 1:h", "1:R", nil},
		{"first publication with nothing healthy", "0:u 1:u", "0:-", nil},
		{"one healthy address suffices while another is unknown", "0:h?", "0:R-", nil},

		{"failover is immediate", "0:u 1:h", "1:R", []func(*criteria){at(0)}},
		{"failover goes to the lowest that qualifies", "0:u 1:u 2:h 3:h", "2:R", []func(*criteria){at(0)}},
		{"failover waits for a first result", "0:u? 1:h", "0:-- in 12s", []func(*criteria){at(0)}},
		{"but not where it could not help", "0:uuu? 1:h", "1:R", []func(*criteria){at(0), percent(50)}},
		{"and not for ever", "0:u! 1:h", "1:R", []func(*criteria){at(0)}},
		{"degraded, but enough", "0:huu 1:h", "0:R--", []func(*criteria){at(0)}},
		{"not enough", "0:huu 1:h", "1:R", []func(*criteria){at(0), percent(50)}},
		{"exactly enough", "0:hu 1:h", "0:R-", []func(*criteria){at(0), percent(50)}},
		{"a share is not rounded down", "0:hhu 1:h", "1:R", []func(*criteria){at(0), percent(67)}},

		{"none qualifies: most healthy", "0:huuu 1:hhuu 2:huuu", "1:RR--", []func(*criteria){at(0), percent(80)}},
		{"none qualifies, equal: stay", "0:huuu 1:huuu", "1:R---", []func(*criteria){at(1), percent(80)}},
		{"none qualifies, equal, nothing published: lowest", "1:huuu 0:huuu", "0:R---", []func(*criteria){percent(80)}},
		{"all down: stay, none ready", "0:uu 1:u", "1:-", []func(*criteria){at(1)}},
		{"all down: panic publishes all of the lowest", "0:uu 1:u", "0:RR panic", []func(*criteria){at(1), panicking}},
		{"panic waits for first results", "0:u 1:?", "0:- in 12s", []func(*criteria){at(0), panicking}},
		{"panic that is on stays on meanwhile", "0:u? 1:u", "0:RR panic in 12s", []func(*criteria){at(0), inPanic}},
		{"panic ends with the first that is healthy", "0:uu 1:h", "1:R", []func(*criteria){at(0), inPanic}},
		{"panic also where no share is asked for", "0:uu", "0:RR panic", []func(*criteria){at(0), panicking, percent(0)}},

		{"failback after the delay", "0:h 1:h", "0:R", []func(*criteria){at(1)}},
		{"failback not before", "0:n 1:h", "1:R pending 0 in 4m0s", []func(*criteria){at(1)}},
		{"failback to the one that is due, whatever a lower one waits for", "0:n 1:h 2:h", "1:R pending 0 in 4m0s", []func(*criteria){at(2)}},
		{"failback counts from when enough were healthy", "0:hn 1:h", "1:R pending 0 in 4m0s", []func(*criteria){at(1), percent(100)}},
		{"one that has been healthy all along is enough", "0:hn 1:h", "0:RR", []func(*criteria){at(1), percent(50)}},
		{"a break is remembered", "0:h 1:h", "1:R pending 0 in 3m0s", []func(*criteria){at(1), lapsed}},
		{"failback needs no delay where the present one is down", "0:n 1:u", "0:R", []func(*criteria){at(1)}},
		{"manual failback stays", "0:h 1:h", "1:R pending 0", []func(*criteria){at(1), manual}},
		{"manual failback on request", "0:n 1:h", "0:R handled", []func(*criteria){at(1), manual, asked}},
		{"a request skips the delay", "0:n 1:h", "0:R handled", []func(*criteria){at(1), asked}},
		{"a request where the present one waits for its first result", "0:h 1:?", "0:R handled", []func(*criteria){at(1), asked}},
		{"a request for what is down is refused", "0:u 1:h", "1:R handled", []func(*criteria){at(1), asked}},
		{"a request where nothing has failed over", "0:h 1:h", "0:R handled", []func(*criteria){at(0), asked}},
		{"manual does not hold on to what is down", "0:n 1:u", "0:R", []func(*criteria){at(1), manual}},

		{"suspicion: no failover", "0:u 1:h", "0:-", []func(*criteria){at(0), suspect}},
		{"suspicion: no failback", "0:h 1:h", "1:R", []func(*criteria){at(1), suspect}},
		{"suspicion: no panic", "0:u", "0:-", []func(*criteria){at(0), suspect, panicking}},
		{"suspicion: panic goes on", "0:uu", "0:RR panic", []func(*criteria){at(0), suspect, inPanic}},
		{"suspicion: a priority that is gone is left", "1:h", "1:R", []func(*criteria){at(0), suspect}},
		{"suspicion: a request waits", "0:h 1:h", "1:R", []func(*criteria){at(1), suspect, asked}},

		{"a priority that is gone is left at once", "1:? 2:h", "2:R", []func(*criteria){at(0)}},
		{"or for the first result where nothing else is healthy", "1:? 2:u", "1:- in 12s", []func(*criteria){at(0)}},
	} {
		t.Run(in.name, func(t *testing.T) {
			with := base()
			for _, change := range in.with {
				change(&with)
			}
			candidates := parseCandidates(in.candidates)
			slices.SortStableFunc(candidates, func(a, b Candidate) int { return a.compare(&b) })
			if got := show(choose(candidates, with)); got != in.want {
				t.Errorf("%s: got %q, want %q", in.candidates, got, in.want)
			}
		})
	}
}

func TestARequestIsHandledOnceHealthCanBeTrusted(t *testing.T) {
	with := base()
	with.active, with.failbackRequested, with.isSuspect = ptr.To[int32](1), true, true
	if d := choose(parseCandidates("0:h 1:h"), with); d.failbackHandled {
		t.Error("handled while suspect")
	}
	with.isSuspect = false
	if d := choose(parseCandidates("0:h 1:h"), with); !d.failbackHandled {
		t.Error("not handled")
	}
}

// failoverModel is a random course of events: priorities whose addresses come, go, fail and recover.
type failoverModel struct {
	*rand.Rand
	now        time.Time
	candidates []Candidate
	unsure     bool
}

func newFailoverModel(seed uint64) *failoverModel {
	w := &failoverModel{Rand: rand.New(rand.NewPCG(seed, 1)), now: epoch}
	for priority := range int32(1 + w.IntN(3)) {
		for range 1 + w.IntN(4) {
			w.addAddress(priority)
		}
	}
	return w
}

func (f *failoverModel) addAddress(priority int32) {
	ip := netip.AddrFrom4([4]byte{192, 0, byte(priority), byte(f.IntN(8))})
	if !slices.ContainsFunc(f.candidates, func(m Candidate) bool { return m.IP == ip }) {
		f.candidates = append(f.candidates, Candidate{Priority: priority, IP: ip, Ports: somePorts, Health: networkingv1.AddressUnknown, since: f.now})
	}
	slices.SortFunc(f.candidates, func(a, b Candidate) int { return a.compare(&b) })
}

// step lets some time pass and something happen, as the prober would let it.
func (f *failoverModel) step() {
	f.now = f.now.Add(time.Duration(f.IntN(60)) * time.Second)
	switch f.IntN(12) {
	case 0:
		f.addAddress(int32(f.IntN(3)))
	case 1:
		if len(f.candidates) > 1 {
			i := f.IntN(len(f.candidates))
			f.candidates = slices.Delete(f.candidates, i, i+1)
		}
	case 2:
		f.unsure = !f.unsure
	default:
		m := &f.candidates[f.IntN(len(f.candidates))]
		next := networkingv1.AddressHealthy
		if f.IntN(2) == 0 && (!f.unsure || m.Health == networkingv1.AddressUnhealthy) {
			next = networkingv1.AddressUnhealthy
		}
		if m.Health != next {
			m.Health, m.since = next, f.now
		}
	}
}

func TestDecisionsHoldTheirPromisesInAnyCourseOfEvents(t *testing.T) {
	for seed := range uint64(400) {
		w := newFailoverModel(seed)
		with := base()
		with.minHealthy = []int{0, 1, 50, 100}[w.IntN(4)]
		with.panicThreshold = []int{0, 1}[w.IntN(2)]
		with.manualFailback = w.IntN(4) == 0
		m := &State{}
		good := [endpoints.NumPriorities]time.Time{} // since when each priority has qualified without a break
		var before Choice
		for range 200 {
			w.step()
			with.now, with.isSuspect = w.now, w.unsure
			with.active, with.isPanicking, with.qualifiedSince = m.Active, m.isPanicking, m.qualifiedSinceAt(w.now)
			d := choose(w.candidates, with)
			for priority := range good {
				switch {
				case d.qualified&(1<<priority) == 0:
					good[priority] = time.Time{}
				case good[priority].IsZero():
					good[priority] = w.now
				}
			}
			promises(t, seed, w, with, good, before, d)
			if t.Failed() {
				return
			}
			m.Record(&Input{Now: w.now, Object: &networkingv1.ExternalService{}}, &d)
			before = d
		}
	}
}

func promises(t *testing.T, seed uint64, w *failoverModel, with criteria, good [endpoints.NumPriorities]time.Time, before, d Choice) {
	t.Helper()
	fail := func(what string) { t.Errorf("seed %d at %s: %s: %s", seed, w.now.Sub(epoch), what, show(d)) }
	if again := choose(slices.Clone(w.candidates), with); cmp.Diff(show(again), show(d)) != "" {
		fail("the same input has two decisions")
	}
	anyHealthy := slices.ContainsFunc(w.candidates, func(m Candidate) bool { return m.Health == networkingv1.AddressHealthy })
	for _, p := range d.Published {
		if p.Priority != *d.Active {
			fail("an address of another priority is published")
		}
		if p.IsReady && p.Health != networkingv1.AddressHealthy && !d.IsPanicking {
			fail("an address that is not healthy is ready")
		}
		if !p.IsReady && p.Health == networkingv1.AddressHealthy {
			fail("a healthy address of the published priority is not ready")
		}
	}
	if d.IsPanicking && (anyHealthy || with.panicThreshold == 0) {
		fail("panic without a reason")
	}
	if before.Active == nil || d.Active == nil {
		return
	}
	still := slices.ContainsFunc(w.candidates, func(m Candidate) bool { return m.Priority == *before.Active })
	switch from, to := *before.Active, *d.Active; {
	case still && with.isSuspect && from != to:
		fail("the priority changed while health could not be trusted")
	case still && to < from && d.qualified&(1<<from) != 0 && anyHealthy:
		if with.manualFailback {
			fail("manual failback went back by itself")
		}
		if good[to].IsZero() || w.now.Sub(good[to]) < with.failbackDelay {
			fail("failback before its delay")
		}
	case to > from && still && d.qualified&(1<<from) != 0 && anyHealthy:
		fail("left a priority that qualifies for a worse one")
	}
	if !d.RequeueAt.IsZero() && !d.RequeueAt.After(w.now) {
		fail("asks to be called again in the past")
	}
}

func TestSuspicionNeverEmptiesAService(t *testing.T) {
	for seed := range uint64(200) {
		w := newFailoverModel(seed)
		with := base()
		for i := range w.candidates {
			w.candidates[i].Health = networkingv1.AddressHealthy
		}
		d := choose(w.candidates, with)
		with.active, with.isSuspect, w.unsure = d.Active, true, true
		for range 50 {
			w.step()
			w.unsure = true
			kept := slices.ContainsFunc(w.candidates, func(m Candidate) bool {
				return m.Priority == *d.Active && m.Health == networkingv1.AddressHealthy
			})
			with.now = w.now
			if now := choose(w.candidates, with); kept && now.ReadyCount() == 0 {
				t.Fatalf("seed %d: %s was published, and now %s", seed, show(d), show(now))
			}
		}
	}
}

func endpointWith(name string, priority int32, zone string, health networkingv1.AddressHealth, ips ...string) endpoints.Endpoint {
	e := endpoints.Endpoint{Name: name, Zone: zone, Priority: priority}
	for _, ip := range ips {
		e.Addresses = append(e.Addresses, endpoints.Address{
			IP: netip.MustParseAddr(ip), Ports: somePorts, Health: probe.Health{State: health, Since: epoch}, Changed: epoch,
		})
	}
	return e
}

var compareCandidates = cmp.Options{cmp.AllowUnexported(Candidate{}), cmpopts.IgnoreFields(Candidate{}, "Ports"), cmpopts.EquateComparable(netip.Addr{})}

func TestMembersDoNotDependOnTheOrderOfTheSpec(t *testing.T) {
	sites := []endpoints.Endpoint{
		endpointWith("a", 0, "east", networkingv1.AddressUnhealthy, "192.0.2.1", "192.0.2.2"),
		endpointWith("b", 0, "west", networkingv1.AddressHealthy, "192.0.2.2", "2001:db8::1"),
		endpointWith("c", 1, "north", networkingv1.AddressHealthy, "192.0.2.1"),
		endpointWith("d", 0, "", networkingv1.AddressUnknown, "192.0.2.1"),
	}
	want := []Candidate{
		{Priority: 0, IP: netip.MustParseAddr("192.0.2.1"), Zone: "east", Health: networkingv1.AddressUnknown, since: epoch},
		{Priority: 0, IP: netip.MustParseAddr("192.0.2.2"), Zone: "east", Health: networkingv1.AddressHealthy, since: epoch},
		{Priority: 0, IP: netip.MustParseAddr("2001:db8::1"), Zone: "west", Health: networkingv1.AddressHealthy, since: epoch},
		{Priority: 1, IP: netip.MustParseAddr("192.0.2.1"), Zone: "north", Health: networkingv1.AddressHealthy, since: epoch},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		random.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
		for i := range sites { // nor on its names
			sites[i].Name = string(rune('a' + (i+round)%len(sites)))
		}
		if diff := cmp.Diff(want, candidatesOf(sites), compareCandidates); diff != "" {
			t.Fatalf("candidates (-want +got):\n%s", diff)
		}
	}
}

func TestAnAddressOfTwoEndpointsIsHealthyForAsLongAsEitherSays(t *testing.T) {
	sites := []endpoints.Endpoint{endpointWith("a", 0, "", networkingv1.AddressHealthy, "192.0.2.1"), endpointWith("b", 0, "", networkingv1.AddressHealthy, "192.0.2.1")}
	sites[0].Addresses[0].Changed = epoch.Add(time.Hour)
	if got := candidatesOf(sites); len(got) != 1 || !got[0].since.Equal(epoch) {
		t.Errorf("got %+v", got)
	}
}

func TestDrainedEndpointsAndDeniedAddressesAreNoMembers(t *testing.T) {
	sites := []endpoints.Endpoint{endpointWith("a", 0, "", networkingv1.AddressHealthy, "192.0.2.1"), endpointWith("b", 0, "", networkingv1.AddressHealthy, "192.0.2.2", "192.0.2.3")}
	sites[0].IsDrained = true
	sites[1].Addresses[0].DeniedReason = egress.ReasonPod
	if got := candidatesOf(sites); len(got) != 1 || got[0].IP.String() != "192.0.2.3" {
		t.Errorf("got %+v", got)
	}
}
