// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// outside is the world that an operator looks at: which addresses accept, and what the names lead to.
type outside struct {
	mu    sync.Mutex
	down  map[string]bool   // by address, or by address and port
	leads map[string]string // of a name, its addresses, or how its lookups end
	// rotates is how many of the addresses of every name an answer has, the next ones each time; 0 means all. answered is
	// how many answers there were.
	rotates, answered int
	// takes is how long a check or a lookup takes.
	takes time.Duration
}

func (o *outside) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

func (o *outside) dial(ctx context.Context, to egress.Query) (net.Conn, error) {
	o.mu.Lock()
	down, takes := o.down[to.IP.String()] || o.down[netip.AddrPortFrom(to.IP, to.Port).String()], o.takes
	o.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if down {
		return nil, syscall.ECONNREFUSED
	}
	here, there := net.Pipe()
	return here, there.Close()
}

func (o *outside) lookup(ctx context.Context, name string, _ networkingv1.RecordType) dns.Answer {
	o.mu.Lock()
	leads, takes := o.leads[strings.TrimSuffix(name, ".")], o.takes
	if all := strings.Fields(leads); o.rotates > 0 && len(all) > o.rotates {
		leads = strings.Join(slices.Concat(all, all)[o.answered*o.rotates%len(all):][:o.rotates], " ")
	}
	o.answered++
	o.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		leads = string(dns.Timeout)
	}
	part := dns.FamilyAnswer{Outcome: dns.Outcome(leads)}
	if strings.Contains(leads, ".") {
		part = dns.FamilyAnswer{Outcome: dns.Resolved, TTL: 10 * time.Second}
		for text := range strings.FieldsSeq(leads) {
			part.Addresses = append(part.Addresses, dns.Address{IP: netip.MustParseAddr(text)})
		}
	}
	six := part
	if part.Outcome == dns.Resolved {
		six = dns.FamilyAnswer{Outcome: dns.NXDomain, TTL: 10 * time.Second}
	}
	return dns.Answer{IPv4: part, IPv6: six}
}

// life is an object and the processes that reconcile it one after another, in a synctest bubble. What a process knows
// passes to the next one through the JSON of the objects.
type life struct {
	*suite
	*outside

	// skew is how far the clock was off by which the times of probes were taken, compared with the clock now.
	skew time.Duration
	// node is how far the clock of the node is off that a process runs on.
	node    time.Duration
	wake    chan struct{}
	due     time.Time
	stop    func()
	checked bool // after each reconcile
	gap     string
	// inStep has a reconcile know all that has happened at its time, so that a history always has the same course.
	inStep bool
	// rest is the spec without its endpoints, and freeze has the blackouts of the cluster.
	rest   string
	freeze *freeze.Freeze
	// refuser refuses writes; nil for none. afterReconcile is called after each reconcile.
	refuser        *refuser
	afterReconcile func()
	// ended is called once a history has ended, and before the world is at rest.
	ended func()
	// orphaned means that a Service is left, or will be, of an object that was deleted, and objects counts those created since.
	orphaned bool
	objects  int
	// backoff is how long a reconcile that has failed waits in the queue.
	backoff workqueue.TypedRateLimiter[types.NamespacedName]
	// trace has an entry for each reconcile.
	trace []trace
}

// trace holds the writes that one reconcile attempted, and the addresses that are ready after it.
type trace struct {
	at    time.Duration // since the history began
	tried []string
	ready []string
}

func (l *life) clock() time.Time { return time.Now().Add(l.node + l.skew) }

// begin starts a process.
func (l *life) begin() {
	l.restart()
	node := l.node
	notify := func(types.NamespacedName) {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	jitter := func() float64 { return 0.5 } // a history can be repeated
	prober := probe.New(probe.Options{Dial: l.dial, Notify: notify, Now: l.clock, Rand: jitter})
	tracker := resolution.New(resolution.Options{Lookup: l.lookup, Notify: notify, Rand: jitter})
	l.Reconciler = newReconciler(Reconciler{
		Client: l.store, Live: l.store, Secrets: l.store, Events: (*fakeRecorder)(l.suite),
		Now:        func() time.Time { return time.Now().Add(node) },
		Resolution: tracker, Probes: prober, Policy: l.policy, DrainPeriod: 5 * time.Second,
		Freeze: l.freeze,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{tracker.Run, prober.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	l.stop = func() {
		cancel()
		running.Wait()
	}
	l.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](5*time.Millisecond, 1000*time.Second)
	if l.refuser != nil {
		l.refuser.isStatusTold, l.refuser.streak = false, 0
	}
	l.due = time.Now()
}

// stored returns the object, or nil.
func (l *life) stored() *networkingv1.ExternalService {
	es := &networkingv1.ExternalService{}
	if err := l.store.Get(l.Context(), objectKey, es); err != nil {
		return nil
	}
	return es
}

// live reconciles for a time.
func (l *life) live(d time.Duration) {
	end := time.Now().Add(d)
	for {
		next := end
		if !l.due.IsZero() && l.due.Before(end) {
			next = l.due
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-l.wake:
		case <-timer.C:
			if next.Equal(end) {
				return
			}
		}
		timer.Stop()
		if l.inStep {
			synctest.Wait()
		}
		l.reconcileNow()
	}
}

func (l *life) reconcileNow() {
	before, wrote := l.ready(), len(l.writes)
	result, err := l.Reconcile(l.Context(), reconcile.Request{NamespacedName: objectKey})
	l.trace = append(l.trace, trace{time.Since(bubbleEpoch), slices.Clone(l.writes[wrote:]), l.ready()})
	switch l.due = (time.Time{}); {
	case err != nil:
		l.due = time.Now().Add(l.backoff.When(objectKey))
	case result.RequeueAfter > 0:
		l.due = time.Now().Add(result.RequeueAfter)
		fallthrough
	default:
		l.backoff.Forget(objectKey)
	}
	if l.afterReconcile != nil {
		l.afterReconcile()
	}
	if l.checked && len(before) > 0 && len(l.ready()) == 0 && l.gap == "" {
		l.gap = fmt.Sprintf("after %s nothing is ready any more, and %v was", time.Since(bubbleEpoch), before)
	}
}

// end has nothing refused, suspended or deleted any more.
func (l *life) end() {
	if l.refuser != nil {
		l.refuser.set(0)
	}
	es := l.stored()
	if es != nil && !es.DeletionTimestamp.IsZero() {
		l.live(2 * time.Minute)
		es = l.stored()
	}
	switch {
	case es == nil:
		l.createObject(lawRest+sameForms[0], false)
	case ptr.Deref(es.Spec.Suspend, false):
		l.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = nil })
		l.due = time.Now()
	}
	if l.ended != nil {
		l.ended()
	}
}

// readyAt returns the addresses that were ready at a time.
func (l *life) readyAt(at time.Duration) (ready []string) {
	for i := range l.trace {
		if l.trace[i].at > at {
			break
		}
		ready = l.trace[i].ready
	}
	return ready
}

var bubbleEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ready returns the addresses that are ready.
func (l *life) ready() []string {
	var all []string
	for each := range strings.FieldsSeq(l.published()) {
		if ip, ok := strings.CutSuffix(each, "+"); ok {
			all = append(all, ip)
		}
	}
	return slices.Compact(all)
}

// The object of a history has two priorities of the addresses a1, a2 and b1, in one of several forms that mean the same.
const (
	lawA1, lawA2, lawB1 = "192.0.2.1", "192.0.2.2", "198.51.100.1"
	lawRest             = `ports: [{name: sql, port: 5432}]
resolution: {minTTL: 1s, maxTTL: 30s}
healthCheck: {tcpSocket: {}, interval: 5s, unhealthyInterval: 5s, timeout: 2s, jitterPercent: 0, successThreshold: 1, failureThreshold: 2}
failover: {failbackDelay: 1m}
endpoints:
`
)

// sameForms are specs that lead to the same addresses, priorities and checks.
var sameForms = []string{
	`- {name: a, addresses: [192.0.2.1, 192.0.2.2]}
- {name: b, priority: 1, addresses: [198.51.100.1]}`,
	`- {name: x, priority: 1, addresses: [198.51.100.1]}
- {name: y, addresses: [192.0.2.2, 192.0.2.1]}`,
	`- {name: b, addresses: [192.0.2.1]}
- {name: a, addresses: [192.0.2.2]}
- {name: c, priority: 1, addresses: [198.51.100.1]}`,
	`- {name: a, dns: {name: a.example.com}}
- {name: b, priority: 1, dns: {name: b.example.com}}`,
	`- {name: b, dns: {name: alias.example.com}}
- {name: a, priority: 1, addresses: [198.51.100.1]}`,
	`- {name: a, dns: {name: one.example.com}}
- {name: two, dns: {name: a.example.com.}}
- {name: b, priority: 1, dns: {name: b.example.com.}}`,
}

// brokenForms name what does not resolve in the place of something that did.
var brokenForms = []string{
	`- {name: a, dns: {name: typo.example.com}}
- {name: b, priority: 1, addresses: [198.51.100.1]}`,
	`- {name: other, dns: {name: typo.example.com}}
- {name: b, priority: 1, dns: {name: b.example.com}}`,
	`- {name: typo, dns: {name: typo.example.com}}
- {name: typo-too, priority: 1, dns: {name: b.typo.example.com}}`,
	`- {name: typo, priority: 1, dns: {name: typo.example.com}}
- {name: typo-too, dns: {name: typo.example.com.}}`,
}

// otherForms have other addresses, priorities or states. All of them are valid.
var otherForms = []string{
	`- {name: a, addresses: [203.0.113.1]}
- {name: b, priority: 1, addresses: [192.0.2.1]}`,
	`- {name: a, state: Drained, addresses: [192.0.2.1, 192.0.2.2]}
- {name: b, addresses: [198.51.100.1]}`,
	`- {name: a, priority: 3, addresses: [192.0.2.1]}`,
	`- {name: new, dns: {name: new.example.com}}
- {name: b, priority: 1, addresses: [192.0.2.2]}`,
}

func lawLeads() map[string]string {
	return map[string]string{
		"a.example.com": lawA1 + " " + lawA2, "alias.example.com": lawA2 + " " + lawA1, "one.example.com": lawA1, "b.example.com": lawB1,
		"new.example.com": "203.0.113.2 203.0.113.3", "typo.example.com": "NXDomain", "b.typo.example.com": "ServFail",
	}
}

func parseSpec(t testing.TB, text string) (spec networkingv1.ExternalServiceSpec) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// day is longer than any history.
const day = 24 * time.Hour

// step is one step of a history.
type step struct {
	what  string
	value int
	wait  time.Duration
}

func (s step) String() string { return fmt.Sprintf("%s(%d) %s", s.what, s.value, s.wait) }

// take does what a step says, and lives until the next one. What is to be done to an object that is gone is left out.
func (l *life) take(s step) {
	if l.stored() != nil || s.what == "create" || s.what == "restart" || l.refuser != nil && (s.what == "refuse" || s.what == "lift") {
		l.do(s)
	}
	l.live(s.wait)
	if l.refuser == nil || s.wait < time.Minute {
		return
	}
	switch es := l.stored(); {
	case es != nil && es.DeletionTimestamp.IsZero():
		l.refuser.checkRest()
	case s.wait >= 5*time.Minute:
		l.refuser.checkDeleted()
	}
}

// do does what a step says.
func (l *life) do(s step) {
	edit := func(forms []string) {
		text := l.rest + forms[s.value%len(forms)]
		l.edit(func(es *networkingv1.ExternalService) { es.Spec = parseSpec(l.TB, text) })
		l.due = time.Now()
	}
	names := []string{"a.example.com", "alias.example.com", "b.example.com", "one.example.com"}
	switch s.what {
	case "same":
		edit(sameForms)
	case "broken":
		edit(brokenForms)
	case "other":
		edit(otherForms)
	case "restart":
		l.stop()
		l.begin()
	case "leader":
		l.stop()
		l.node = []time.Duration{0, time.Hour, -time.Hour, 10 * time.Minute}[s.value%4]
		l.begin()
	case "fail":
		outcomes := []string{"Timeout", "ServFail", "NXDomain"}
		l.set(func() { l.leads[names[s.value%len(names)]] = outcomes[s.value%len(outcomes)] })
	case "resolve":
		l.set(func() { l.leads = lawLeads() })
	case "suspend":
		l.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = new(true) })
		l.reconcileNow()
		l.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = new(false) })
		l.due = time.Now()
	case "rename":
		edit(sameForms[:3])
	case "drain":
		l.edit(func(es *networkingv1.ExternalService) {
			if e := &es.Spec.Endpoints[s.value%len(es.Spec.Endpoints)]; ptr.Deref(e.State, "") == networkingv1.EndpointDrained {
				e.State = nil
			} else {
				e.State = new(networkingv1.EndpointDrained)
			}
		})
		l.due = time.Now()
	case "deny":
		ip := []string{lawA1, lawA2, lawB1, "203.0.113.1"}[s.value%4]
		if _, denied := l.policy[ip]; denied {
			delete(l.policy, ip)
		} else {
			l.policy[ip] = egress.ReasonDeniedByPolicy
		}
		l.due = time.Now()
	case "clock":
		l.skew = []time.Duration{0, time.Hour, -time.Hour, 10 * time.Minute}[s.value%4]
	case "down":
		all := [][]string{{lawA1, lawA2}, {lawA1}, {lawA2}, {lawB1}}[s.value%4]
		l.set(func() {
			for _, ip := range all {
				l.down[ip] = !l.down[ip]
			}
		})
	case "refuse":
		l.refuser.set(s.value)
	case "lift":
		l.refuser.set(0)
	case "pause":
		l.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = new(!ptr.Deref(es.Spec.Suspend, false)) })
		l.due = time.Now()
	case "strip":
		l.edit(func(es *networkingv1.ExternalService) { es.Finalizers = nil })
		l.due = time.Now()
	case "twice":
		before := len(l.writes)
		l.reconcileNow()
		l.reconcileNow()
		middle := len(l.writes)
		l.reconcileNow()
		if len(l.writes) > middle && l.gap == "" && before < middle {
			l.gap = fmt.Sprintf("the third reconcile in a row wrote %v", l.writes[middle:])
		}
	case "fault":
		l.injectFault([]string{"BlackHole", "FailOver", "Drain endpoint=a"}[s.value%3])
	case "delete":
		l.deleteObject(s.value%2 == 1)
	case "create":
		l.createObject(lawRest+sameForms[s.value%len(sameForms)], s.value%2 == 1)
	}
}

// lawChecks is how many histories a law is checked on, unless the flag rapid.checks says otherwise.
const lawChecks = "15"

func checkLaw(t *testing.T, law func(*rapid.T)) {
	t.Helper()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "rapid.checks" })
	if !isSet {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, law)
}

func drawHistory(rt *rapid.T, kinds ...string) []step {
	waits := []time.Duration{0, 10 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute}
	for i := range waits[1:] { // no step is at the time of a check, which either may come before
		waits[i+1] += time.Duration(2*i+1) * 61 * time.Microsecond
	}
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
		return step{rapid.SampledFrom(kinds).Draw(rt, "what"), rapid.IntRange(0, 191).Draw(rt, "value"), rapid.SampledFrom(waits).Draw(rt, "wait")}
	}), 1, 12).Draw(rt, "history")
}

// liveThrough lives through a history, and returns what has been and what is in the end.
func liveThrough(t *testing.T, takes time.Duration, first string, history []step, noGaps bool) (gap string, ready []string, conditions string) {
	l, conditions := liveFrom(t, takes, lawRest+first, history, func(l *life) { l.checked = noGaps })
	return l.gap, l.readyAt(day), conditions
}

// liveFrom lives through a history of an object that begins with a spec, until the world was at rest for half an hour.
func liveFrom(t *testing.T, takes time.Duration, spec string, history []step, prepare func(*life)) (l *life, conditions string) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{down: map[string]bool{}, leads: lawLeads(), takes: takes}
		l = &life{suite: newSuite(t, spec), outside: o, wake: make(chan struct{}, 1), rest: lawRest}
		l.collectsGarbage = true
		prepare(l)
		l.begin()
		l.live(time.Minute + 31*time.Millisecond)
		for _, s := range history {
			l.take(s)
		}
		// The world is at rest: so is the object, in the end.
		l.set(func() { l.leads = lawLeads() })
		l.end()
		l.live(20 * time.Minute)
		l.writes = nil
		l.live(10 * time.Minute)
		if len(l.writes) > 0 && l.gap == "" {
			l.gap = fmt.Sprintf("with the world at rest for 20 minutes it wrote %v", l.writes)
		}
		l.stop()
		all := l.object().Status.Conditions
		slices.SortFunc(all, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
		for _, c := range all {
			if c.Reason == networkingv1.ReasonInvalidSpec {
				t.Error(c.Message)
			}
			conditions += fmt.Sprintf("%s=%s/%s ", c.Type, c.Status, c.Reason)
		}
	})
	return l, conditions
}

// Laws 1, 3, 4, 6, 8 and 9: while every address accepts, whatever is edited, fails to resolve, restarts, is suspended
// and resumed, or happens to the clock, something is ready at any time, and in the end the object is at rest.
func TestLawNothingUnknownTakesAnAddressAway(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "same", "broken", "other", "restart", "fail", "resolve", "suspend", "clock", "twice")
		takes := rapid.SampledFrom([]time.Duration{time.Millisecond, 1500 * time.Millisecond}).Draw(rt, "takes")
		gap, ready, conditions := liveThrough(t, takes, sameForms[0], history, true)
		if gap != "" || len(ready) == 0 {
			rt.Fatalf("%s; in the end %v, %s", gap, ready, conditions)
		}
	})
}

// A law has found each of these.
func TestWhatIsReadyOutlivesEditsThatNothingHasComeOfYet(t *testing.T) {
	const settles = 5 * time.Minute
	for name, history := range map[string][]step{
		"the name that replaces it is older than the edit": {
			{"other", 1, settles}, {"broken", 0, time.Second}, {"broken", 2, time.Minute},
		},
		"two endpoints have the name that replaces it": {{"broken", 3, time.Minute}},
		"the name that is left has never resolved":     {{"other", 1, settles}, {"broken", 1, time.Second}, {"broken", 3, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			if gap, ready, conditions := liveThrough(t, 1500*time.Millisecond, sameForms[0], history, true); gap != "" || len(ready) == 0 {
				t.Errorf("%s; in the end %v, %s", gap, ready, conditions)
			}
		})
	}
}

// Law 2: forms that lead to the same are the same, whatever fails meanwhile.
func TestLawANameInTheSpecIsOnlyAName(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "same", "down", "restart", "same")
		plain := slices.DeleteFunc(slices.Clone(history), func(s step) bool { return s.what == "same" && s.wait == 0 })
		for i := range plain {
			if plain[i].what == "same" {
				plain[i].what = "nothing"
			}
		}
		_, renamed, _ := liveThrough(t, time.Millisecond, sameForms[0], history, false)
		_, kept, _ := liveThrough(t, time.Millisecond, sameForms[0], plain, false)
		if !slices.Equal(renamed, kept) {
			rt.Fatalf("with edits %v, without %v", renamed, kept)
		}
	})
}

// Law 2: what a user was entitled to publish stays published under other names.
func TestLawAnApprovalIsOfNoNames(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "rename", "rename", "restart", "suspend", "twice")
		l, conditions := liveFrom(t, time.Millisecond, lawRest+sameForms[0], history, func(l *life) {
			l.edit(approvedBy("ann"))
			l.policy[lawA1], l.policy[lawA2], l.policy[lawB1] = egress.ReasonPod, egress.ReasonNode, egress.ReasonPod
			l.checked = true
		})
		if ready := l.readyAt(day); l.gap != "" || !slices.Equal(ready, []string{lawA1, lawA2}) {
			rt.Fatalf("%s; in the end %v, %s", l.gap, ready, conditions)
		}
	})
}

// Law 3: a process that forgets everything at any time ends where one that does not ends.
func TestLawForgettingIsHarmless(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "same", "other", "down", "fail", "resolve", "restart", "restart")
		whole := slices.Clone(history)
		for i := range whole {
			if whole[i].what == "restart" {
				whole[i].what = "nothing"
			}
		}
		_, restarted, forgetful := liveThrough(t, time.Millisecond, sameForms[0], history, false)
		_, kept, mindful := liveThrough(t, time.Millisecond, sameForms[0], whole, false)
		if !slices.Equal(restarted, kept) {
			rt.Fatalf("with restarts %v %s, without %v %s", restarted, forgetful, kept, mindful)
		}
	})
}

// Law 8: a clock that is off by up to an hour, or set between any two steps, changes nothing in the end, and no wait
// exceeds its bound.
func TestLawClocks(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "same", "down", "restart", "clock", "clock")
		right := slices.Clone(history)
		for i := range right {
			if right[i].what == "clock" {
				right[i].what = "nothing"
			}
		}
		_, skewed, conditions := liveThrough(t, time.Millisecond, sameForms[0], history, false)
		_, kept, expected := liveThrough(t, time.Millisecond, sameForms[0], right, false)
		if !slices.Equal(skewed, kept) {
			rt.Fatalf("with another clock %v %s, with the right one %v %s", skewed, conditions, kept, expected)
		}
	})
}

// Law 8: leaders whose clocks are up to an hour apart end where one leader ends, and no wait exceeds its bound.
func TestLawLeadersWithOtherClocks(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "same", "down", "leader", "leader", "fault", "deny", "pause")
		right := slices.Clone(history)
		for i := range right {
			if right[i].what == "leader" {
				right[i].what = "restart"
			}
		}
		_, skewed, conditions := liveThrough(t, time.Millisecond, sameForms[0], history, false)
		_, kept, expected := liveThrough(t, time.Millisecond, sameForms[0], right, false)
		if !slices.Equal(skewed, kept) {
			rt.Fatalf("with other clocks %v %s, with the right one %v %s", skewed, conditions, kept, expected)
		}
	})
}
