// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// What a workload is to survive.
const (
	LostPod          = "LostPod"
	AbsentDependency = "AbsentDependency"
	Restart          = "Restart"
)

// Verdict is what is known in one word.
type Verdict string

const (
	// Failed means that a failure is later than the last time that it was survived.
	Failed Verdict = "Failed"
	// Unknown means that the records could not be read.
	Unknown Verdict = "Unknown"
	// Never means that no record shows that it was survived.
	Never Verdict = "Never"
	// Stale means that it was survived before Report.StaleBefore.
	Stale Verdict = "Stale"
	// Survived means that it was, since then.
	Survived Verdict = "Survived"
)

// Verdicts are all of them, the worst first.
var Verdicts = []Verdict{Failed, Unknown, Never, Stale, Survived}

// Report is what workloads have survived.
type Report struct {
	// Time is when it was made.
	Time metav1.Time `json:"time"`
	// StaleBefore is how old a proof may be.
	StaleBefore metav1.Time `json:"staleBefore"`
	// Proofs are those of failures first, and then in the order of the workloads.
	Proofs []Proof          `json:"proofs"`
	Unread []inspect.Unread `json:"unread,omitempty"`
}

// Proof is whether a workload survives one disruption.
type Proof struct {
	inspect.Key
	Disruption string `json:"disruption"`
	// Dependency is the ExternalService of AbsentDependency.
	Dependency string  `json:"dependency,omitempty"`
	Verdict    Verdict `json:"verdict"`
	// Survived is the last time that it was survived; absent for never.
	Survived *Evidence `json:"survived,omitempty"`
	// Failed is the last failure, where it is later.
	Failed *Evidence `json:"failed,omitempty"`
	// Inconclusive is the last attempt that is later than both and shows nothing, where the verdict is not Survived.
	Inconclusive *Evidence `json:"inconclusive,omitempty"`
	// Remedy is what would prove it; absent where the verdict is Survived.
	Remedy string `json:"remedy,omitempty"`
}

// Evidence is a record.
type Evidence struct {
	// Object has the record.
	Object inspect.Key `json:"object"`
	// Record is its id; absent where the history has it no longer.
	Record string `json:"record,omitempty"`
	// Time is when it ended, or began where that is not known; absent where neither is.
	Time    *metav1.Time `json:"time,omitempty"`
	Result  string       `json:"result,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// Requests are those of verification.probes meanwhile.
	Requests *common.RequestCounts `json:"requests,omitempty"`
}

// isAfter reports whether e is the later one of two. A time that is not known is before all others.
func (e *Evidence) isAfter(other *Evidence) bool {
	switch {
	case e == nil || other == nil:
		return e != nil
	case e.Time == nil || other.Time == nil:
		return e.Time != nil
	}
	return e.Time.After(other.Time.Time)
}

// outcome of an attempt.
type outcome int

const (
	inconclusive outcome = iota
	failed
	survived
)

// claim is what a Proof is about.
type claim struct {
	inspect.Key
	disruption, dependency string
}

// builder gathers evidence.
type builder struct {
	graph *inspect.Graph
	now   time.Time
	found map[claim]*Proof
}

// Of returns what the workloads that have the labels have survived. What is older than maxAge is stale.
func Of(g *inspect.Graph, selector labels.Selector, maxAge time.Duration, now time.Time) *Report {
	b := &builder{g, now, map[claim]*Proof{}}
	r := &Report{
		Time: metav1.NewTime(now.UTC().Truncate(time.Second)), StaleBefore: metav1.NewTime(now.Add(-maxAge).UTC().Truncate(time.Second)),
		Proofs: []Proof{}, Unread: g.Unread,
	}
	for _, o := range g.Objects {
		b.addRecords(o)
	}
	for _, o := range g.Objects {
		if !inspect.IsWorkload(o.Kind) || !b.isListed(o, selector) {
			continue
		}
		r.Proofs = append(r.Proofs, b.settle(o, claim{o.Key, LostPod, ""}, r), b.settle(o, claim{o.Key, Restart, ""}, r))
		for _, name := range dependencies(o) {
			r.Proofs = append(r.Proofs, b.settle(o, claim{o.Key, AbsentDependency, name}, r))
		}
	}
	slices.SortStableFunc(r.Proofs, func(a, b Proof) int {
		return cmp.Compare(order(a.Verdict), order(b.Verdict))
	})
	return r
}

// order has what has failed come first. The others stay in the order of the workloads.
func order(v Verdict) int {
	if v == Failed {
		return 0
	}
	return 1
}

// isListed reports whether a workload is one of the report. One of a kind that could not be read is, where an object of Fairlead
// names it; its labels are not known.
func (b *builder) isListed(o *inspect.Object, selector labels.Selector) bool {
	if o.Source == nil {
		return selector.Empty() && b.unread(o.Kind) != ""
	}
	return o.Source.GetDeletionTimestamp() == nil && selector.Matches(labels.Set(o.Source.GetLabels()))
}

// unread returns why a kind could not be read; empty where it could.
func (b *builder) unread(kind string) string {
	for _, u := range b.graph.Unread {
		if u.Resource == inspect.Resource(kind).String() {
			return u.String()
		}
	}
	return ""
}

// dependencies are the ExternalServices that a workload depends on, as it declares or a policy that restarts it names.
func dependencies(o *inspect.Object) (names []string) {
	add := func(needs []inspect.Relation) {
		for _, r := range needs {
			if r.Object.Kind == inspect.ExternalService && !slices.Contains(names, r.Object.Name) {
				names = append(names, r.Object.Name)
			}
		}
	}
	add(o.Needs)
	for _, r := range o.NeededBy {
		if r.Object.Kind == inspect.RebootPolicy && r.IsTarget() {
			add(r.Object.Needs)
		}
	}
	slices.Sort(names)
	return names
}

// add adds evidence of a claim. Of each outcome the latest counts.
func (b *builder) add(of claim, o outcome, e Evidence) {
	if o == survived && (e.Time.IsZero() || e.Time.After(b.now.Add(chaosrules.ClockSlack))) {
		o, e.Message = inconclusive, sentence(e.Message, "the record does not count, since its time is not known or in the future")
	}
	p := b.found[of]
	if p == nil {
		p = &Proof{Key: of.Key, Disruption: of.disruption, Dependency: of.dependency}
		b.found[of] = p
	}
	into := [...]**Evidence{inconclusive: &p.Inconclusive, failed: &p.Failed, survived: &p.Survived}[o]
	if e.isAfter(*into) || *into == nil {
		*into = &e
	}
}

// settle returns the verdict on a claim.
func (b *builder) settle(o *inspect.Object, of claim, r *Report) Proof {
	p := Proof{Key: of.Key, Disruption: of.disruption, Dependency: of.dependency, Verdict: Never}
	if found := b.found[of]; found != nil {
		p = *found
	}
	switch why := b.unread(recordsOf[of.disruption]); {
	case p.Failed != nil && !p.Survived.isAfter(p.Failed):
		p.Verdict = Failed
	case why != "":
		p.Verdict, p.Failed, p.Remedy = Unknown, nil, upper(why)+"."
		return p
	case p.Survived == nil:
		p.Verdict, p.Failed = Never, nil
	case p.Survived.Time.Before(&r.StaleBefore):
		p.Verdict, p.Failed = Stale, nil
	default:
		p.Verdict, p.Failed, p.Inconclusive = Survived, nil, nil
		return p
	}
	if p.Inconclusive != nil && (p.Survived.isAfter(p.Inconclusive) || p.Failed.isAfter(p.Inconclusive)) {
		p.Inconclusive = nil
	}
	p.Remedy = b.remedy(o, &p)
	return p
}

// recordsOf are the kinds whose records show that a disruption was survived.
var recordsOf = map[string]string{LostPod: inspect.ChaosPod, AbsentDependency: inspect.ExternalService, Restart: inspect.RebootPolicy}

// Count returns how many proofs have a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for i := range r.Proofs {
		if r.Proofs[i].Verdict == v {
			n++
		}
	}
	return n
}
