// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// step is one event of a schedule, and how the round of a leader after it ends.
type step struct {
	what   string
	which  int
	span   time.Duration
	leader int
	crash  string
}

func eventKinds() []string {
	return []string{
		"pass", "pass", "pass", "pass", "pass", "pass", "pass", "pass", "pass", "due", "due", "due", "due",
		"budget", "two budgets", "free budget", "rollout", "break", "repair", "flap", "flap", "scale", "delete", "cordon", "exclude", "busy", "free", "fault",
		"forward", "back", "suspend", "go on", "edit", "run now", "retry", "suspect", "bar", "blind", "hide", "forbid", "canary template",
	}
}

// crashes are where a process ends, a write is refused, an answer lost, or a view is old.
func crashes() []string {
	return []string{"", "", "", "", "", "before the store", "after the store", "between the kills", "after the kills", "the record is refused",
		"responses are lost", "requests are lost", "a stale view", "a stale object", "two leaders"}
}

func spans() []time.Duration {
	return []time.Duration{time.Second, 3 * time.Second, 15 * time.Second, time.Minute, 4 * time.Minute, 20 * time.Minute, 3 * time.Hour}
}

func scheduleOf(seed uint64) []step {
	random := rand.New(rand.NewPCG(seed, 17))
	spans, all, ends := spans(), eventKinds(), crashes()
	steps := make([]step, 20+random.IntN(50))
	for i := range steps {
		steps[i] = step{all[random.IntN(len(all))], random.IntN(8), spans[random.IntN(len(spans))], random.IntN(2), ends[random.IntN(len(ends))]}
	}
	if probed(seed) {
		for range 6 {
			for _, what := range []string{"requests fail", "requests succeed"} {
				steps = slices.Insert(steps, random.IntN(len(steps)), step{what: what})
			}
		}
	}
	return steps
}

// probed reports whether the ChaosPod of a seed has verification.probes: in the others each seed has the history that it had
// before there were any.
func probed(seed uint64) bool { return seed >= 10_000 }

// model is two leaders, a simulated API server, and a judge who has seen everything.
type model struct {
	simCluster
	random *rand.Rand
	// stored is the object as the API server has it, and version its resourceVersion.
	stored  *chaosv1.ChaosPod
	version int
	// old are the object and the observation that a stale cache shows.
	oldObject  *chaosv1.ChaosPod
	oldVersion int
	oldView    []Owner
	// skew is by how much the operators' clock is ahead of that of the cluster.
	skew    time.Duration
	suspect bool
	barred  bool
	blind   bool
	free    int
	token   int

	// failing means that requests of verification.probes fail. requests are the counts of this process for the run under way.
	// exceeded are the runs whose stored decision had more failures than allowed.
	failing  bool
	requests map[string]common.RequestCounts
	exceeded map[string]bool

	seen    map[string]int
	failure error

	// named are the victims that a stored status has named as pending, by run and UID.
	named map[string]bool
	// fell are the owners that lost a pod, by run and UID of the owner; deaths the kills by day.
	fell   map[string]types.UID
	deaths map[string]int
	days   bool // the clock was never set back
}

func newModel(seed uint64, seen map[string]int) *model {
	random := rand.New(rand.NewPCG(seed, 23))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	duration := func(list ...string) *common.Duration { return ptr.To(common.Duration(pick(list...))) }
	p := &chaosv1.ChaosPod{}
	p.Namespace, p.Name, p.UID, p.Generation = "shop", "api", types.UID(fmt.Sprintf("0123abcd-%d", seed)), 1
	m := &model{
		simCluster: simCluster{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), busy: map[types.UID]bool{}},
		random:     random, stored: p, free: 4, seen: seen, named: map[string]bool{}, fell: map[string]types.UID{}, deaths: map[string]int{}, days: true,
	}
	p.CreationTimestamp = metav1.NewTime(m.now.Add(-time.Hour))
	p.Spec.DryRun = ptr.To(random.IntN(8) == 0)
	p.Spec.Schedule.StartingDeadline = duration("1m", "5m", "20m")
	p.Spec.Schedule.JitterPercent = ptr.To(random.Int32N(51))
	switch random.IntN(4) {
	case 0:
		p.Spec.Schedule.Cron = common.Cron(pick("*/10 * * * *", "0 * * * *", "30 */2 * * 1-5"))
		p.Spec.Schedule.TimeZone = common.TimeZone(pick("", "Europe/Zurich"))
	case 1:
		p.Spec.Schedule.At = ptr.To(metav1.NewTime(m.now.Add(time.Duration(random.IntN(600)) * time.Second)))
	default:
		p.Spec.Schedule.Interval = common.Duration(pick("15s", "4m", "7m", "1h"))
	}
	p.Spec.Action = &chaosv1.Action{Type: ptr.To([]chaosv1.ActionType{chaosv1.ActionEvict, chaosv1.ActionEvict, chaosv1.ActionDelete}[random.IntN(3)])}
	if random.IntN(3) == 0 {
		p.Spec.Windows = []common.Window{{Name: "half-hours", Cron: "*/30 * * * *", Duration: "20m"}}
	}
	if random.IntN(3) == 0 {
		p.Spec.Blackouts = []common.Window{{Name: "quarter", Cron: "15 * * * *", Duration: "5m"}}
	}
	p.Spec.Verification = &common.Verification{
		Timeout: duration("30s", "5m"), Soak: duration("0s", "5s", "20s", "100s"), OnFailure: ptr.To([]common.FailurePolicy{common.FailureHalt, common.FailureContinue}[random.IntN(2)]),
	}
	if m.requests, m.exceeded = map[string]common.RequestCounts{}, map[string]bool{}; probed(seed) {
		p.Spec.Verification.Probes = []common.VerificationProbe{{Name: "shop", Host: "shop.example.com", MaxFailures: ptr.To[int32](1)}}
	}
	p.Spec.Filter = &chaosv1.Filter{MinAge: duration("0s", "1m"), Exclude: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"chaos": "off"}}}
	if random.IntN(5) == 0 {
		p.Spec.Target.Template = templateOf("one")
		p.Spec.Filter = nil
		m.canary = &simOwner{name: p.Name, uid: string(p.UID), wanted: 1}
		m.canaryHash = TemplateHash(p.Spec.Target.Template)
		return m
	}
	p.Spec.Target.Selector = &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"app": "x"}}
	count := intstr.FromInt32(1 + random.Int32N(4))
	if random.IntN(2) == 0 {
		count = intstr.FromString(pick("10%", "40%", "100%"))
	}
	p.Spec.Count = &count
	minReady := intstr.FromInt32(random.Int32N(3))
	if random.IntN(2) == 0 {
		minReady = intstr.FromString(pick("0%", "50%", "75%"))
	}
	p.Spec.Safety = &chaosv1.Safety{
		MinReady: &minReady, MaxPerDay: ptr.To(1 + random.Int32N(12)), RequireStable: ptr.To(random.IntN(3) > 0), RequireDisruptionBudget: ptr.To(random.IntN(4) == 0),
	}
	for i := range 1 + random.IntN(4) {
		o := &simOwner{name: fmt.Sprintf("w%d", i), uid: fmt.Sprintf("owner-%d", i), wanted: 1 + random.IntN(4), minReady: time.Duration(random.IntN(2)) * 10 * time.Second}
		m.owners = append(m.owners, o)
	}
	m.advance(5 * time.Minute)
	return m
}

func (m *model) clock() time.Time { return m.now.Add(m.skew) }

func (m *model) fail(format string, args ...any) {
	if m.failure == nil {
		m.failure = fmt.Errorf(m.now.Format(time.DateTime)+": "+format, args...)
	}
}

// edit is a write of a user.
func (m *model) edit(spec bool, change func(*chaosv1.ChaosPod)) {
	m.stored = m.stored.DeepCopy()
	change(m.stored)
	if spec {
		m.stored.Generation++
	}
	m.version++
}

func (m *model) event(s step) {
	var o *simOwner
	if len(m.owners) > 0 {
		o = m.owners[s.which%len(m.owners)]
	} else {
		o = m.canary
	}
	switch s.what {
	case "pass":
		m.advance(s.span)
	case "due":
		if next := m.stored.Status.NextRunTime; next != nil && next.Sub(m.now) < 30*time.Hour && next.After(m.now) {
			m.advance(next.Sub(m.now))
		}
	case "budget":
		o.budget = 1
	case "two budgets":
		o.budget = 2
	case "free budget":
		o.budget = 0
	case "fault":
		o.faulted = !o.faulted
	case "rollout":
		o.rolling = !o.rolling
	case "break":
		o.broken = true
	case "repair":
		o.repair(m.now)
	case "flap": // while nothing looks
		m.advance(s.span)
		broken, rolling := o.broken, o.rolling
		o.broken = true
		o.repair(m.now)
		o.broken, o.rolling = broken, rolling
		m.advance(s.span)
	case "scale":
		o.wanted = s.which % 5
		if m.canary != nil {
			o.wanted = 1
		}
	case "delete":
		if m.canary == nil && len(m.owners) > 1 {
			m.owners = m.owners[1:]
		}
	case "cordon":
		m.cordoned = s.which
	case "exclude":
		m.excluded = s.which
	case "busy":
		m.busy[types.UID(o.uid)] = !m.busy[types.UID(o.uid)]
	case "free":
		m.free = s.which % 4
	case "forward":
		m.now = m.now.Add(7 * s.span)
	case "back":
		m.now = m.now.Add(-3 * s.span)
		m.days = false
	case "suspend", "go on":
		m.edit(true, func(p *chaosv1.ChaosPod) { p.Spec.Suspend = ptr.To(s.what == "suspend" && s.which < 4) })
	case "edit":
		m.edit(true, func(p *chaosv1.ChaosPod) { p.Spec.DryRun = ptr.To(s.which == 0) })
	case "run now":
		m.token++
		m.edit(false, func(p *chaosv1.ChaosPod) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, chaosv1.RunNowAnnotation, fmt.Sprint(m.token))
		})
	case "retry":
		m.token++
		m.edit(false, func(p *chaosv1.ChaosPod) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, chaosv1.RetryAnnotation, fmt.Sprint(m.token))
		})
	case "suspect":
		m.suspect = !m.suspect
	case "bar":
		m.barred = !m.barred
	case "blind":
		m.blind = !m.blind
	case "hide":
		o.unknown = !o.unknown
	case "forbid":
		o.forbidden = !o.forbidden
	case "requests fail":
		m.failing = true
	case "requests succeed":
		m.failing = false
	case "canary template":
		if m.canary != nil {
			m.edit(true, func(p *chaosv1.ChaosPod) { p.Spec.Target.Template = templateOf(fmt.Sprint(s.which)) })
		}
	}
}

func (m *model) observe(views []Owner) Observation {
	o := Observation{Now: m.clock(), Suspect: m.suspect, Others: Others{Free: m.free, Disrupted: map[types.UID]bool{}}, Requests: m.observed()}
	for uid, on := range m.busy {
		if on {
			o.Others.Disrupted[uid] = true
		}
	}
	if m.barred {
		o.BlockedBy = Obstacle{chaosv1.ReasonForbidden, "not authorized"}
	}
	if m.blind {
		o.Unknown = "the API server does not answer"
	}
	if m.canary != nil {
		o.Canary = &Canary{}
		if m.blind || m.canary.unknown {
			o.Canary.Unknown = "the API server does not answer"
		} else if len(views) > 0 && len(views[0].Pods) > 0 {
			o.Canary.Pod, o.Canary.Hash = &views[0].Pods[0], m.canaryHash
		}
		return o
	}
	if !m.blind {
		o.Owners = views
	}
	return o
}

// sendRequest sends one for the run under way, which the process counts: what it found in the status as it began, and what it
// sent since.
func (m *model) sendRequest() {
	counted := m.requests
	m.requests = map[string]common.RequestCounts{}
	run := m.stored.Status.CurrentRun
	if run == nil || run.DryRun || len(m.stored.Spec.Verification.Probes) == 0 {
		return
	}
	c, known := counted[run.ID]
	if !known && len(run.Probes) > 0 {
		c = run.Probes[0].RequestCounts
	}
	if c.Sent++; m.failing {
		c.Failed++
	}
	m.requests[run.ID] = c
}

// observed are the requests that the process has counted for the run under way.
func (m *model) observed() []requestcount.Requests {
	for _, c := range m.requests {
		return []requestcount.Requests{{ProbeRequests: common.ProbeRequests{Name: "shop", RequestCounts: c}}}
	}
	return nil
}

// reconcile is one reconciliation.
func (m *model) reconcile(s step) time.Time {
	m.sendRequest()
	switch s.crash {
	case "before the store", "after the store", "between the kills", "after the kills":
		defer func() { m.requests = nil }()
	}
	object, version := m.stored.DeepCopy(), m.version
	views := m.views()
	if s.crash == "a stale object" && m.oldObject != nil {
		object, version = m.oldObject.DeepCopy(), m.oldVersion
	}
	if s.crash == "a stale view" && m.oldView != nil {
		views = m.fresh(object, m.oldView, views)
	} else {
		m.oldView = m.views()
	}
	m.oldObject, m.oldVersion = m.stored.DeepCopy(), m.version
	o := m.observe(views)
	d := m.decide(object, o)
	if m.random.IntN(6) == 0 { // it costs more than all the rest
		m.checkRepeatable(object, o, d)
	}
	if !d.RequeueAt.IsZero() && !d.RequeueAt.After(m.clock()) {
		m.fail("told to come back in the past, at %s", d.RequeueAt)
	}
	if s.crash == "before the store" {
		return d.RequeueAt
	}
	if version != m.version { // a conflict, or a live look that shows another version
		m.seen["conflict"]++
		return d.RequeueAt
	}
	m.check(object, o, d)
	m.store(d.Status)
	stored := m.version
	switch s.crash {
	case "after the store":
		return d.RequeueAt
	case "two leaders": // another one acts on what is stored, before the requests of this one arrive
		m.reconcile(step{})
	}
	var results []Result
	for i, action := range d.Actions {
		if s.crash == "between the kills" && i > 0 {
			return d.RequeueAt
		}
		if s.crash == "requests are lost" {
			results = append(results, Result{Action: action, Outcome: Retry})
			continue
		}
		result := m.act(action)
		if s.crash == "responses are lost" {
			result.Outcome = Retry
		}
		results = append(results, result)
	}
	if s.crash == "after the kills" || len(results) == 0 {
		return d.RequeueAt
	}
	if stored != m.version {
		m.seen["conflict"]++
		return d.RequeueAt
	}
	recorded := m.fold(m.stored.DeepCopy(), results)
	if s.crash != "the record is refused" {
		m.check(m.stored, o, recorded)
		m.store(recorded.Status)
	}
	return d.RequeueAt
}

func (m *model) decide(p *chaosv1.ChaosPod, o Observation) Decision {
	r := newRun(p, o)
	r.onTransition = m.onTransition
	return r.decide()
}

func (m *model) fold(p *chaosv1.ChaosPod, results []Result) Decision {
	r := newRun(p, Observation{Now: m.clock(), Requests: m.observed()})
	r.onTransition = m.onTransition
	return r.recordAll(results)
}

func (m *model) onTransition(r *run, from State, event Event, to State) {
	m.seen[string(from)+" "+string(event)]++
	if got := r.state(); got != to {
		m.fail("%s %s leads to %s, the table says %s", from, event, got, to)
	}
}

func (m *model) bytes(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		m.fail("%v", err)
	}
	return string(data)
}

// checkRepeatable decides once more from what is to be stored: nothing may change, and no message may repeat.
func (m *model) checkRepeatable(object *chaosv1.ChaosPod, o Observation, d Decision) {
	p := object.DeepCopy()
	Decide(p, o)
	if m.bytes(object) != m.bytes(p) {
		m.fail("Decide changed its argument")
	}
	p.Status = d.Status
	again := Decide(p, o)
	if a, b := m.bytes(d.Status), m.bytes(again.Status); a != b {
		m.fail("a second decision differs:\n%s\n%s", a, b)
	}
	if len(again.Messages) > 0 {
		m.fail("told twice: %+v", again.Messages)
	}
	if a, b := m.bytes(d.Actions), m.bytes(again.Actions); a != b {
		m.fail("a second decision does other things: %s, then %s", a, b)
	}
}

func (m *model) store(status chaosv1.ChaosPodStatus) {
	if apiequality.Semantic.DeepEqual(&m.stored.Status, &status) {
		return
	}
	stored := *m.stored
	stored.Status = chaosv1.ChaosPodStatus{}
	if err := json.Unmarshal([]byte(m.bytes(status)), &stored.Status); err != nil {
		m.fail("%v", err)
	}
	m.stored = &stored
	m.version++
	if c := m.stored.Status.CurrentRun; c != nil {
		for _, v := range c.Victims {
			m.named[c.ID+"/"+string(v.UID)] = true
		}
	}
}
