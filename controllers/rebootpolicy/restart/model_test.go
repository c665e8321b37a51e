// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
)

// correctionKinds are further events, of the histories in which content is good, bad and corrected.
func correctionKinds() []string {
	return []string{"bad", "bad", "stall", "quota", "partition", "lose", "approve", "approve again"}
}

// step is one event of a schedule, and how the operator's next round ends.
type step struct {
	what  string
	which int
	span  time.Duration
	crash string
}

// crashes are where the process may end, or a write may be refused.
func crashes() []string {
	return []string{"", "", "", "", "before the store", "after the store", "after the actions", "the record is refused", "a stale view"}
}

func eventKinds() []string {
	return []string{
		"pass", "pass", "pass", "pass", "pass", "pass", "pass", "pass",
		"change", "change", "change back", "tick", "wedge", "heal", "break", "mend", "loop", "deploy", "revert", "budget", "two budgets",
		"blackout", "gate", "suspect", "suspend", "dry run", "edit", "retry", "restart now", "recreate", "delete", "scale", "group", "free", "busy", "unknown",
		"withdraw", "drop trigger", "refuse", "pause", "rename", "keys", "label",
	}
}

func schedule(seed uint64) []step {
	random := rand.New(rand.NewPCG(seed, 17))
	spans := []time.Duration{time.Second, 3 * time.Second, 16 * time.Second, time.Minute, 3 * time.Minute, 11 * time.Minute, 70 * time.Minute}
	whats, crashes := eventKinds(), crashes()
	steps := make([]step, 20+random.IntN(60))
	for i := range steps {
		steps[i] = step{whats[random.IntN(len(whats))], random.IntN(8), spans[random.IntN(len(spans))], crashes[random.IntN(len(crashes))]}
	}
	if seed%8 == 1 { // in the others each seed has the history that it had before there were nodes
		lost := step{"lose", random.IntN(8), 0, ""}
		steps = slices.Insert(steps, random.IntN(len(steps)), lost)
	}
	if probes(seed) {
		for _, what := range []string{"requests fail", "requests fail", "requests succeed"} {
			steps = slices.Insert(steps, random.IntN(len(steps)), step{what, 0, 0, ""})
		}
	}
	if gated(seed) {
		for range len(steps) / 4 {
			what := []string{"approve", "approve", "approve again"}[random.IntN(3)]
			steps = slices.Insert(steps, random.IntN(len(steps)), step{what, random.IntN(8), 0, crashes[random.IntN(len(crashes))]})
		}
	}
	return steps
}

// model is the operator, the cluster and a judge who has seen everything.
type model struct {
	simCluster
	policy  *autorebootv1.RebootPolicy
	old     *simCluster // what a stale view shows
	seen    map[string]int
	settled bool

	// told counts notices by reason and restart.
	told map[string]int
	// asked is for what change of each source the workload was last restarted, by uid.
	asked map[types.UID][4]int
	token int
	// had are the contents of the sources for which the workload was last restarted, and former those for which it was before that,
	// by uid: none where the latest restart failed. The third is which keys counted.
	had, former map[types.UID][3]int
	// ended is the latest result of each workload, by uid.
	ended  map[types.UID]autorebootv1.RestartRecord
	starts map[types.UID][]time.Time
	lapsed map[types.UID]bool
	// excused are workloads for which other keys began to count while the operator could not know of a change.
	excused map[types.UID]bool
	// shown are the changes that the operator last saw.
	shown     [4]int
	abandoned map[types.UID]bool
	// late are the workloads without a stored decision while they were new.
	late map[types.UID]bool
	// before is the judge's verdict on a workload before its latest restart was planned.
	before map[types.UID]verdict
	// clockSet means that the operator's clock was behind: it does not know how long ago anything was.
	clockSet bool
	// planned is when each restart of a workload was decided on.
	planned map[string]time.Time
	// requests are the counts of this process for each restart in flight. exceeded are the restarts whose stored decision had
	// more failures than allowed.
	requests map[string]common.RequestCounts
	exceeded map[string]bool
	// approvals are the contents for which a person has approved the next restart of a workload, by uid; used are the tokens that
	// were set. viewed are the contents that the process saw last, and offered those of the status that a person sees.
	approvals       map[types.UID]*[4]int
	used            []string
	viewed, offered [4]int
	failure         error
}

// verdict is the judge's memory of one workload.
type verdict struct {
	asked            [4]int
	restarted, ended bool
	latest           autorebootv1.RestartRecord
	starts           []time.Time
	abandoned        bool
	approved         *[4]int
	had, former      map[types.UID][3]int
}

// forgetPlan has the judge forget a plan that was refused: nothing was done.
func (m *model) forgetPlan(uid types.UID) {
	v := m.before[uid]
	delete(m.asked, uid)
	delete(m.ended, uid)
	if v.restarted {
		m.asked[uid] = v.asked
	}
	if v.ended {
		m.ended[uid] = v.latest
	}
	m.starts[uid], m.abandoned[uid], m.approvals[uid] = v.starts, v.abandoned, v.approved
	m.had, m.former = v.had, v.former
}

func newModel(seed uint64, seen map[string]int) *model {
	random, ordered := rand.New(rand.NewPCG(seed, 23)), rand.New(rand.NewPCG(seed, 29))
	d := func(s common.Duration) *common.Duration { return &s }
	p := &autorebootv1.RebootPolicy{}
	p.Namespace, p.Name, p.UID, p.Generation = "shop", "payments", "0123abcd-0000", 1
	names := [4]string{"config", "plain", "tick", "probe"}
	p.Spec.Triggers = []autorebootv1.Trigger{
		{Name: names[0], Type: autorebootv1.TriggerConfigChange}, {Name: names[1], Type: autorebootv1.TriggerEndpointsChange},
		{Name: names[2], Type: autorebootv1.TriggerSchedule}, {Name: names[3], Type: autorebootv1.TriggerProbe},
	}
	most := intstr.FromInt32(1 + random.Int32N(3))
	attempts := random.Int32N(4)
	onFailure := []common.FailurePolicy{common.FailureHalt, common.FailureContinue}[random.IntN(2)]
	limit := 10 * random.Int32N(6)
	history := max(random.Int32N(4), 1)
	p.Spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: &most}
	p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: &attempts, Backoff: d("1m")}
	p.Spec.Limit = &autorebootv1.Limit{MaxRestarts: 1 + random.Int32N(5), Within: "1h"}
	p.Spec.Debounce = &autorebootv1.Debounce{QuietPeriod: d("15s"), MaxDelay: d("1m")}
	p.Spec.Cooldown = d("2m")
	p.Spec.Verification = &autorebootv1.Verification{
		Verification: common.Verification{Timeout: d("5m"), Soak: d("30s"), OnFailure: &onFailure}, MaxContainerRestarts: &limit,
	}
	p.Spec.HistoryLimit = &history
	p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyRolloutRestart}
	if random.IntN(2) == 0 {
		p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict, Evict: &autorebootv1.EvictStrategy{Timeout: d("2m")}}
	}
	m := &model{policy: p, seen: seen, told: map[string]int{}, asked: map[types.UID][4]int{}, ended: map[types.UID]autorebootv1.RestartRecord{},
		starts: map[types.UID][]time.Time{}, lapsed: map[types.UID]bool{}, excused: map[types.UID]bool{}, abandoned: map[types.UID]bool{}, late: map[types.UID]bool{}, before: map[types.UID]verdict{}, planned: map[string]time.Time{}}
	m.simCluster = simCluster{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), free: 3, busy: map[types.UID]bool{}, rollouts: map[string]int{}, reverted: map[string]bool{}, names: names}
	m.requests, m.exceeded = map[string]common.RequestCounts{}, map[string]bool{}
	if probes(seed) {
		p.Spec.Verification.Probes = []common.VerificationProbe{{Name: "shop", Host: "shop.example.com", MaxFailures: ptr.To[int32](1)}}
	}
	m.had, m.former, m.bad = map[types.UID][3]int{}, map[types.UID][3]int{}, map[int]bool{}
	m.approvals = map[types.UID]*[4]int{}
	if gated(seed) {
		p.Spec.Gates = []autorebootv1.Gate{{Name: "release", Type: autorebootv1.GateApproval}}
	}
	m.evicts = p.Spec.Strategy.Type == autorebootv1.StrategyEvict
	for i := range m.sources {
		m.sources[i].written = m.now.Add(-time.Hour)
	}
	for i := range 1 + random.IntN(4) {
		s := &simWorkload{name: fmt.Sprintf("w%d", i), wave: int32(i / 2 * random.IntN(2)), desired: 1 + random.IntN(3), ordered: ordered.IntN(3) == 0}
		m.createPod(s)
		m.workloads = append(m.workloads, s)
	}
	slices.SortStableFunc(m.workloads, func(a, b *simWorkload) int { return int(a.wave - b.wave) })
	m.advance(time.Minute)
	return m
}

func (m *model) fail(format string, args ...any) {
	if m.failure == nil {
		m.failure = fmt.Errorf(m.now.Format(time.TimeOnly)+": "+format, args...)
	}
}

func (m *model) event(s step) {
	target := m.workloads[s.which%len(m.workloads)]
	src := &m.sources[s.which%2]
	switch s.what {
	case "pass":
		m.advance(s.span)
	case "change":
		m.changes(src, src.change+1)
		m.excuse()
	case "bad":
		m.bad[m.sources[0].change+1] = true
		m.changes(&m.sources[0], m.sources[0].change+1)
		m.excuse()
	case "stall":
		target.generation++
		target.revision++
		target.stuck = target.revision
	case "quota":
		target.quota = !target.quota
	case "partition":
		if target.ordered {
			target.partition = s.which % 3
			target.generation++
		}
	case "change back":
		if src.content > 0 {
			m.changes(src, src.content-1)
			m.excuse()
			// Pods that were made in between keep what they read, unless the change was acted on.
			for _, w := range m.workloads {
				m.lapsed[types.UID(w.uid)] = true
			}
		}
	case "tick":
		m.tick++
		m.tickEnds = m.now.Add(s.span)
	case "wedge":
		target.wedged = true
	case "heal":
		target.wedged = false
	case "break":
		target.broken = true
	case "mend":
		target.broken, target.looping, target.reverts, target.budget, target.twoBudgets, target.refusing, target.lost = false, false, false, false, false, false, false
	case "lose":
		target.lost = len(target.pods) > 0 && target.uid != ""
	case "loop":
		target.looping = true
	case "deploy":
		target.generation++
		target.revision++
	case "revert":
		target.reverts = true
	case "budget":
		target.budget = true
	case "pause":
		target.paused = !target.paused
		target.generation++
	case "refuse":
		target.refusing = !target.refusing
	case "two budgets":
		target.twoBudgets = true
	case "blackout":
		m.blackout = m.now.Add(s.span).Truncate(time.Second)
	case "gate":
		m.gate = !m.gate
	case "suspect":
		m.suspect = !m.suspect
	case "suspend":
		on := s.which%2 == 0
		m.policy.Spec.Suspend = &on
	case "dry run":
		on := s.which%3 == 0
		m.policy.Spec.DryRun = &on
	case "edit":
		m.policy.Generation++
	case "retry":
		m.token++
		m.annotate(autorebootv1.RetryAnnotation, fmt.Sprint(m.token))
	case "restart now":
		m.token++
		m.annotate(autorebootv1.RestartNowAnnotation, fmt.Sprint(m.token))
	case "withdraw":
		delete(m.policy.Annotations, autorebootv1.RestartNowAnnotation)
	case "approve":
		m.approve()
	case "approve again":
		if len(m.used) > 0 {
			m.annotate(autorebootv1.ApproveAnnotation, m.used[s.which%len(m.used)])
		}
	case "recreate":
		m.createPod(target)
	case "delete":
		target.uid = ""
	case "scale":
		target.desired = s.which % 4
		target.generation++
	case "group":
		m.group = s.which % 2
	case "free":
		m.free, m.share = s.which%4, s.which%3
	case "busy":
		if m.busy[types.UID(target.uid)] {
			delete(m.busy, types.UID(target.uid))
		} else {
			m.busy[types.UID(target.uid)] = true
		}
	case "unknown":
		src.unknown = !src.unknown
	case "rename":
		m.rename(s.which % len(m.policy.Spec.Triggers))
	case "keys":
		m.changeKeys()
	case "label":
		target.unselected = !target.unselected
	case "requests fail":
		m.failing = true
	case "requests succeed":
		m.failing = false
	case "drop trigger":
		if s.which == 0 && len(m.policy.Spec.Triggers) == 4 {
			m.policy.Generation++
			m.policy.Spec.Triggers = m.policy.Spec.Triggers[:3]
		}
	}
}

// approve approves what the status offers.
func (m *model) approve() {
	token := string(m.policy.Status.PendingApproval)
	if token == "" {
		return
	}
	for _, t := range m.policy.Status.Targets {
		if t.Pending != nil && t.Pending.ApprovedFingerprint == "" {
			offered := m.offered
			m.approvals[t.UID] = &offered
		}
	}
	m.used = append(m.used, token)
	m.annotate(autorebootv1.ApproveAnnotation, token)
}

func (m *model) annotate(name, value string) {
	if m.policy.Annotations == nil {
		m.policy.Annotations = map[string]string{}
	}
	m.policy.Annotations[name] = value
}

// contents are those of the sources of the triggers, in their order.
func (m *model) contents() [4]int {
	requested, _ := strconv.Atoi(m.policy.Annotations[autorebootv1.RestartNowAnnotation]) // 0 where there is none
	return [4]int{m.sources[0].content, m.sources[1].content, m.tick, requested}
}

// rename gives a trigger another name, as one edit of the spec.
func (m *model) rename(i int) {
	m.policy.Generation++
	name := m.names[i] + "-2"
	if old, renamed := strings.CutSuffix(m.names[i], "-2"); renamed {
		name = old
	}
	m.names[i], m.policy.Spec.Triggers[i].Name = name, name
}

// changeKeys has other keys of the ConfigMap count.
func (m *model) changeKeys() {
	m.policy.Generation++
	m.keys++
	m.excuse()
}

// excuse excuses the workloads whose baselines are of other keys than count now, and whose content is another: what the operator has
// not stored, it cannot know to be owed then.
func (m *model) excuse() {
	unknown := slices.ContainsFunc(m.policy.Status.Triggers, func(s autorebootv1.TriggerStatus) bool {
		return s.Name == m.names[0] && s.State == autorebootv1.TriggerUnknown
	})
	selected := len(m.policy.Status.Targets)
	for i, t := range slices.Concat(m.policy.Status.Targets, m.policy.Status.UnselectedTargets) {
		inFlight := slices.ContainsFunc(m.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == t.UID })
		for _, b := range t.Baselines {
			keys, content, _ := strings.Cut(b.Fingerprint, "/")
			known := t.Pending != nil && slices.Contains(t.Pending.Triggers, b.Trigger) ||
				(inFlight || unknown || i >= selected) && m.sources[0].written.After(timeOf(b.WrittenTime))
			if b.Source == configSource && keys != strconv.Itoa(m.keys) && !known {
				m.excused[t.UID] = m.excused[t.UID] || content != fmt.Sprintf("content-%d", m.sources[0].content)
			}
		}
	}
}

// observe returns what the shell does: it compares the keys that count with those of the baselines.
func (m *model) observe(token string) Observation {
	o := m.simCluster.observe(token)
	o.Workloads = slices.DeleteFunc(o.Workloads, func(w Workload) bool {
		return w.Unselected && !slices.ContainsFunc(m.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == w.UID })
	})
	for i := range o.Workloads {
		w := &o.Workloads[i]
		for _, t := range slices.Concat(m.policy.Status.Targets, m.policy.Status.UnselectedTargets) {
			for _, b := range t.Baselines {
				if keys, _, _ := strings.Cut(b.Fingerprint, "/"); t.UID == w.UID && b.Source == configSource {
					w.Signals[0].Incomparable = keys != strconv.Itoa(m.keys)
				}
			}
		}
		m.probe(w)
	}
	o.Requests = m.sendRequests()
	return o
}

// observeStale returns what the caches had before. The policy is none of that: the observation and the decision have the same one.
func (m *model) observeStale(now *Observation) Observation {
	behind := *m
	behind.simCluster = *m.old.clone()
	behind.names, behind.keys = m.names, m.keys
	o := behind.observe(m.policy.Annotations[autorebootv1.RestartNowAnnotation])
	o.Now, o.Calendar, o.Others, o.Gates, o.Suspect, o.Requests = now.Now, now.Calendar, now.Others, now.Gates, now.Suspect, now.Requests
	return o
}

// probes reports whether the policy of a seed has verification.probes: in the others each seed has the history that it had
// before there were any.
func probes(seed uint64) bool { return seed >= 10_000 }

// gated reports whether a person must approve each restart.
func gated(seed uint64) bool { return seed >= 20_000 && seed%2 == 0 }

// sendRequests sends one for each restart in flight, and returns what the process has counted: what it found in the status
// as it began, and what it sent since.
func (m *model) sendRequests() map[string][]requestcount.Requests {
	counted, all := m.requests, map[string][]requestcount.Requests{}
	m.requests = map[string]common.RequestCounts{}
	if len(m.policy.Spec.Verification.Probes) == 0 {
		return nil
	}
	for _, f := range m.policy.Status.InFlight {
		c, known := counted[f.ID]
		if !known && len(f.Probes) > 0 {
			c = f.Probes[0].RequestCounts
		}
		if c.Sent++; m.failing {
			c.Failed++
		}
		m.requests[f.ID] = c
		all[f.ID] = []requestcount.Requests{{ProbeRequests: common.ProbeRequests{Name: "shop", RequestCounts: c}}}
	}
	return all
}

// checkRequests sees that the verdict is that of the requests, whatever ended in between: once a decision is stored, no process
// forgets that too many failed.
func (m *model) checkRequests(o Observation, d Decision) {
	for _, f := range m.policy.Status.InFlight {
		if r := o.Requests[f.ID]; len(r) > 0 && r[0].Failed > 1 {
			m.exceeded[f.ID+string(f.UID)] = true
		}
	}
	for _, n := range d.Messages {
		s := m.workload(n.Target.Name)
		if s == nil || n.Ended == nil || n.Ended.Result == autorebootv1.ResultSuperseded {
			continue
		}
		exceeded, r := m.exceeded[n.Ended.ID+s.uid], o.Requests[n.Ended.ID]
		switch {
		case exceeded && n.Ended.Result == autorebootv1.ResultSucceeded:
			m.fail("%s is verified though too many requests failed", n.Ended.ID)
		case !exceeded && n.Ended.Reason == autorebootv1.ReasonProbesFailed:
			m.fail("%s failed by its requests, and too few of them failed: %+v", n.Ended.ID, r)
		case len(r) > 0 && (n.Ended.Requests == nil || *n.Ended.Requests != r[0].RequestCounts):
			m.fail("%s has counts of its own: %+v, not %+v", n.Ended.ID, n.Ended.Requests, r)
		}
	}
}

// checkSource is the check of the probe.
const checkSource = "Probe/check"

// probe has the probe of a workload say what the reconciler reads: nothing of one in flight, and nothing certain of a check
// that has not succeeded since the latest restart for it.
func (m *model) probe(w *Workload) {
	probe := &w.Signals[slices.IndexFunc(w.Signals, func(s Signal) bool { return s.Source == checkSource })]
	succeeded := func(t autorebootv1.TargetStatus) bool {
		return t.UID == w.UID && slices.ContainsFunc(t.Baselines, func(b autorebootv1.Baseline) bool { return b.Source == checkSource })
	}
	switch {
	case slices.ContainsFunc(m.policy.Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.UID == w.UID }):
		probe.Firing = false
	case !probe.Firing:
		probe.Fingerprint = "Answered"
	case !slices.ContainsFunc(slices.Concat(m.policy.Status.Targets, m.policy.Status.UnselectedTargets), succeeded):
		probe.Firing, probe.Unknown = false, "NeverAnswered"
	}
}

// reconcile is one reconciliation. It says when to come back.
func (m *model) reconcile(crash string) time.Time {
	now := m.observe(m.policy.Annotations[autorebootv1.RestartNowAnnotation])
	o := now
	if crash == "a stale view" && m.old != nil {
		o = m.observeStale(&now)
	} else {
		m.old, m.viewed = m.clone(), m.contents()
		m.shown = [4]int{m.sources[0].change + 1, m.sources[1].change + 1, m.tick + 1}
		for i := range m.sources {
			// What cannot be read has no say, and its baseline stays.
			if m.sources[i].unknown {
				m.shown[i] = 0
			}
		}
	}
	m.viewed[3], m.shown[3] = m.contents()[3], m.token+1
	o.Others.Free, o.Others.Share = max(m.free-slotsOf(m.policy.Status.InFlight), 0), m.share
	before := m.bytes(m.policy)
	d := m.decide(m.policy, o)
	if m.bytes(m.policy) != before {
		m.fail("Decide changed its argument")
	}
	m.checkRepeatable(o, d)
	if crash == "before the store" || crash == "after the store" || crash == "after the actions" {
		for i := range m.sources {
			m.sources[i].unseen = true // by the next process
		}
		m.requests = nil
	}
	if crash == "before the store" {
		return d.RequeueAt
	}
	m.check(o, d)
	m.checkRequests(o, d)
	m.store(o, d)
	if crash == "after the store" {
		return d.RequeueAt
	}
	var results []Result
	for _, a := range d.Actions {
		if a.Verb == Evict && !a.Pod.Created.Before(m.planned[a.ID+string(a.Workload.UID)]) {
			m.fail("%s: a pod that is new already is evicted", a.ID)
		}
		results = append(results, m.do(a))
	}
	if crash == "after the actions" || len(results) == 0 {
		return d.RequeueAt
	}
	recorded := m.record(m.policy, results)
	if crash != "the record is refused" {
		m.countMessages(recorded)
		m.store(o, recorded)
	}
	if d.RequeueAt.IsZero() || (!recorded.RequeueAt.IsZero() && recorded.RequeueAt.Before(d.RequeueAt)) {
		return recorded.RequeueAt
	}
	return d.RequeueAt
}

func (m *model) decide(p *autorebootv1.RebootPolicy, o Observation) Decision {
	r := newRun(p, o)
	r.onTransition = m.onTransition
	return r.decide()
}

func (m *model) record(p *autorebootv1.RebootPolicy, results []Result) Decision {
	r := newRun(p, Observation{Now: m.now})
	r.onTransition = m.onTransition
	return r.recordAll(results)
}

func (m *model) onTransition(r *run, t *target, from State, event Event, to State) {
	m.seen[string(from)+" "+string(event)]++
	if event == FailedAndGivenUp {
		m.abandoned[t.UID] = true
	}
	if to == Stay {
		to = from
	}
	if got := r.stateOf(t); got != to {
		m.fail("%s: %s %s leads to %s, the table says %s", t.Name, from, event, got, to)
	}
}

func (m *model) bytes(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		m.fail("%v", err)
	}
	return string(data)
}

// slotsOf returns how many slots of the cluster the restarts of a list have.
func slotsOf(list []autorebootv1.InFlightRestart) (n int) {
	for i := range list {
		if !IsSoaking(&list[i]) {
			n++
		}
	}
	return n
}

// without returns how many restarts of a list are not in another.
func without(list, other []autorebootv1.InFlightRestart) (n int) {
	for i := range list {
		if !slices.ContainsFunc(other, func(f autorebootv1.InFlightRestart) bool { return f.ID == list[i].ID }) {
			n++
		}
	}
	return n
}

// checkRepeatable decides once more from what is stored: nothing may have changed, nothing is reported again.
func (m *model) checkRepeatable(o Observation, d Decision) {
	p := m.policy.DeepCopy()
	p.Status = d.Status
	// What is planned is in the ledger. What ended or soaks leaves it, and its slot is this policy's unless others have
	// fewer.
	planned := without(p.Status.InFlight, m.policy.Status.InFlight)
	o.Others.Free -= planned
	if slots := slotsOf(p.Status.InFlight); slots < o.Others.Share {
		o.Others.Free += max(slotsOf(m.policy.Status.InFlight)-(slots-planned), 0)
	}
	again := Decide(p, o)
	if a, b := m.bytes(d.Status), m.bytes(again.Status); a != b {
		m.fail("a second decision differs:\n%s\n%s", a, b)
	}
	if len(again.Messages) > 0 {
		m.fail("told twice: %+v", again.Messages)
	}
	if len(again.Actions) != len(d.Actions) || again.PendingMessage != d.PendingMessage {
		m.fail("a second decision does or says other things")
	}
}

func (m *model) store(o Observation, d Decision) {
	m.checkFirstSight(o, d)
	for _, n := range d.Messages {
		m.checkVerified(o, n)
		if s := m.workload(n.Target.Name); s != nil && (n.Reason == "TriggerRecovered" || n.Reason == "TriggerFired") {
			// Pods that came and went of themselves may have read what has changed back since.
			m.lapsed[types.UID(s.uid)] = n.Reason == "TriggerRecovered"
		}
		if n.Ended != nil {
			// An id may be given again once nothing remembers it: no workload, no record.
			key := fmt.Sprint(n.Ended.ID, n.Ended.Target, n.Ended.StartTime)
			if s := m.workload(n.Target.Name); s != nil {
				key += s.uid
			}
			if m.told[key]++; m.told[key] > 1 {
				m.fail("%s ended twice", n.Ended.ID)
			}
		}
	}
	m.offered = m.viewed
	var status autorebootv1.RebootPolicyStatus
	if err := json.Unmarshal([]byte(m.bytes(d.Status)), &status); err != nil {
		m.fail("%v", err)
	}
	for _, f := range m.policy.Status.InFlight {
		if slices.ContainsFunc(status.Targets, func(t autorebootv1.TargetStatus) bool {
			return t.UID == f.UID && t.Pending != nil && t.Pending.Refusal != nil && t.LastRestartID == f.ID
		}) {
			m.forgetPlan(f.UID)
		}
	}
	m.policy.Status = status
}

// countMessages writes down what a decision that is about to be stored has ended, or forgiven.
func (m *model) countMessages(d Decision) {
	h := m.policy.Status.Halt
	acts := h != nil && (h.Generation != m.policy.Generation || requests.New(m.policy, autorebootv1.RetryAnnotation, m.policy.Status.HandledRetry) != "")
	if acts && (d.Status.Halt == nil || d.Status.Halt.StartTime != h.StartTime) {
		m.ended = map[types.UID]autorebootv1.RestartRecord{}
		m.starts = map[types.UID][]time.Time{}
		m.asked = map[types.UID][4]int{}
	}
	for _, n := range d.Messages {
		if s := m.workload(n.Target.Name); s != nil && n.Ended != nil && n.Ended.Result != autorebootv1.ResultSuperseded && n.Ended.Reason != autorebootv1.ReasonTargetGone {
			m.ended[types.UID(s.uid)] = *n.Ended
			if n.Ended.Result == autorebootv1.ResultFailed {
				delete(m.former, types.UID(s.uid))
			}
		}
	}
}

func (m *model) workload(name string) *simWorkload {
	for _, s := range m.workloads {
		if s.name == name {
			return s
		}
	}
	return nil
}
