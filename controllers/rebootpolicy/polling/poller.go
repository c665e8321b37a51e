// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// Interval is the time between two evaluations of a question.
	Interval = 15 * time.Second
	// MaxAge is the greatest age of a result that opens a gate.
	MaxAge = 3 * Interval
	// workers is how many questions are evaluated at once. There are at most MaxQuestions, and MaxOfNamespace for the policies of a
	// namespace.
	workers        = 8
	MaxQuestions   = 2000
	MaxOfNamespace = 50
	// maxWords of a result, in bytes.
	maxWords = 300
)

// Options of a Poller. All fields are required.
type Options[Q comparable] struct {
	// Evaluate returns why the gate of a question is closed; empty where it is open. It returns soon after ctx ends, and has a timeout
	// of its own.
	Evaluate func(ctx context.Context, question Q) string
	// Noun names a question in messages, such as "query". Done is the participle of its evaluation, such as "evaluated".
	Noun, Done string
	// Notify is called with each policy one of whose gates may have opened or closed. It must not block.
	Notify func(policy types.NamespacedName)
}

// evaluation is the latest of a question.
type evaluation struct {
	closed   string    // why the gate is closed; empty where it is open
	answered time.Time // zero before the first result
	due      time.Time // zero for one that is new
	running  bool
}

// turn is the share of a namespace. A question that several namespaces have is in the turn of each: none can delay it for another.
type turn[Q comparable] struct {
	questions []Q
	running   int
	last      time.Time // when one of its questions was started
}

// Poller evaluates the questions of all policies while it runs. It is safe for concurrent use.
type Poller[Q comparable] struct {
	options Options[Q]
	changed chan struct{} // there may be something to start

	mu          sync.Mutex
	policies    map[types.NamespacedName][]Q
	evaluations map[Q]*evaluation
	turns       map[string]*turn[Q] // by namespace of the policies
	stale       bool                // evaluations and turns are to follow the policies
	running     int
}

// New returns a Poller.
func New[Q comparable](o Options[Q]) *Poller[Q] {
	return &Poller[Q]{
		options: o, changed: make(chan struct{}, 1),
		policies: map[types.NamespacedName][]Q{}, evaluations: map[Q]*evaluation{}, turns: map[string]*turn[Q]{},
	}
}

// Set replaces the questions of a policy. A new one is evaluated at once.
func (p *Poller[Q]) Set(policy types.NamespacedName, all []Q) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(p.policies[policy], all) {
		return
	}
	p.policies[policy] = slices.Clone(all)
	if len(all) == 0 {
		delete(p.policies, policy)
	}
	p.stale = true
	p.wake()
}

func (p *Poller[Q]) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Closed returns why a question that was set for a policy closes its gate; empty if it is open.
func (p *Poller[Q]) Closed(policy types.NamespacedName, question Q) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest := p.evaluations[question]
	switch {
	case latest == nil && !p.stale && slices.Contains(p.policies[policy], question):
		return p.tooMany()
	case latest == nil || latest.answered.IsZero():
		return p.notYet()
	case time.Since(latest.answered) > MaxAge:
		return p.tooOld()
	}
	return latest.closed
}

// Why a gate is closed that no evaluation closes.

func (p *Poller[Q]) tooMany() string {
	return fmt.Sprintf("its %s is not %s: the limit is %d for the policies of a namespace, and %d in all",
		p.options.Noun, p.options.Done, MaxOfNamespace, MaxQuestions)
}

func (p *Poller[Q]) notYet() string {
	return fmt.Sprintf("its %s was not %s yet", p.options.Noun, p.options.Done)
}

func (p *Poller[Q]) tooOld() string {
	return fmt.Sprintf("its %s was last %s more than %s ago: those of its namespace take too long",
		p.options.Noun, p.options.Done, common.DurationOf(MaxAge))
}

// Run evaluates until ctx ends, and returns once nothing is evaluated.
func (p *Poller[Q]) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		started, wait := p.start(time.Now())
		if started != nil {
			running.Go(func() {
				defer p.end(started)
				panics.Go("evaluation of a "+p.options.Noun, func() { p.answer(ctx, started) })
			})
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-p.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// started is a question that is evaluated now.
type started[Q comparable] struct {
	question Q
	*evaluation
	turn *turn[Q]
}

// start chooses the namespace that has the fewest evaluations running, among these the one whose last start is the longest ago, and of
// its questions the one that is due for the longest time. So each namespace is evaluated in time, however slow those of others are. If
// nothing is due or all workers are busy, it returns how long to wait, at most.
func (p *Poller[Q]) start(now time.Time) (*started[Q], time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale {
		p.share()
	}
	if p.running == workers {
		return nil, Interval
	}
	wait := Interval
	var best *started[Q]
	for _, of := range p.turns {
		if best != nil && cmp.Or(cmp.Compare(of.running, best.turn.running), of.last.Compare(best.turn.last)) >= 0 {
			continue
		}
		var first *evaluation
		for _, one := range of.questions {
			e := p.evaluations[one]
			if e.running || first != nil && !e.due.Before(first.due) {
				continue
			}
			wait = min(wait, max(0, e.due.Sub(now)))
			if !e.due.After(now) {
				first, best = e, &started[Q]{one, e, of}
			}
		}
	}
	if best == nil {
		return nil, wait
	}
	best.running, best.due = true, now.Add(Interval)
	best.turn.last = now
	best.turn.running++
	p.running++
	return best, 0
}

func (p *Poller[Q]) end(of *started[Q]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	of.turn.running--
	of.running = false
	p.wake()
}

// share chooses the questions that are evaluated, and forgets the results of all others. Where there are more than MaxQuestions, each
// namespace has as many as any other.
func (p *Poller[Q]) share() {
	p.stale = false
	turns := p.turnsOfPolicies()
	kept := map[Q]*evaluation{}
	namespaces := slices.Sorted(maps.Keys(turns))
	for i := range MaxOfNamespace {
		for _, namespace := range namespaces {
			if of := turns[namespace]; i < len(of.questions) && (kept[of.questions[i]] != nil || len(kept) < MaxQuestions) {
				kept[of.questions[i]] = cmp.Or(p.evaluations[of.questions[i]], &evaluation{})
			}
		}
	}
	for _, of := range turns {
		of.questions = slices.DeleteFunc(of.questions, func(one Q) bool { return kept[one] == nil })
	}
	p.evaluations, p.turns = kept, turns
}

// turnsOfPolicies returns the turn of each namespace, with as many of its questions as a namespace may have.
func (p *Poller[Q]) turnsOfPolicies() map[string]*turn[Q] {
	turns := map[string]*turn[Q]{}
	for _, policy := range slices.SortedFunc(maps.Keys(p.policies), byName) {
		of := turns[policy.Namespace]
		if of == nil {
			of = &turn[Q]{}
			if was := p.turns[policy.Namespace]; was != nil {
				of = was
				of.questions = nil
			}
			turns[policy.Namespace] = of
		}
		for _, one := range p.policies[policy] {
			if len(of.questions) < MaxOfNamespace && !slices.Contains(of.questions, one) {
				of.questions = append(of.questions, one)
			}
		}
	}
	return turns
}

func byName(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

// answer evaluates a question, and notifies of a result that opens or closes a gate.
func (p *Poller[Q]) answer(ctx context.Context, of *started[Q]) {
	closed := text.Truncate(text.OneLine(p.options.Evaluate(ctx, of.question)), maxWords)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.evaluations[of.question] != of.evaluation || ctx.Err() != nil {
		return
	}
	was := *of.evaluation
	of.closed, of.answered = closed, time.Now()
	if was.closed == closed && time.Since(was.answered) <= MaxAge {
		return
	}
	for policy, all := range p.policies {
		if slices.Contains(all, of.question) {
			p.options.Notify(policy)
		}
	}
}
