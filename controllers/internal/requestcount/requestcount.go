// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requestcount says what the requests of verification.probes prove about one disruption. It is pure.
package requestcount

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Requests are those of one of verification.probes since a disruption began.
type Requests struct {
	common.ProbeRequests

	// Unsettled means that some failures may still turn out to be the operator's fault.
	Unsettled bool
	// NotSent is why the latest request was not sent, in one word; empty where it was.
	NotSent string
	// Resumed means that a part of the disruption was not observed, since another process began it.
	Resumed bool
}

// Counts are the requests of all probes of a disruption.
type Counts struct {
	probes []common.VerificationProbe
	all    []Requests
	// isResumed means that a part was observed by no process, or that this one has observed nothing yet.
	isResumed bool
}

// New returns the requests of each probe: what is observed, or else what the status has.
func New(probes []common.VerificationProbe, stored []common.ProbeRequests, observed []Requests) Counts {
	c := Counts{probes: probes, all: make([]Requests, 0, len(probes))}
	for i := range probes {
		name := probes[i].Name
		requests := Requests{ProbeRequests: common.ProbeRequests{Name: name}}
		for _, s := range stored {
			if s.Name == name {
				requests.ProbeRequests = s
			}
		}
		for _, o := range observed {
			if o.Name == name {
				requests = o
			}
		}
		c.all = append(c.all, requests)
	}
	c.isResumed = slices.ContainsFunc(observed, func(r Requests) bool { return r.Resumed }) || len(observed) == 0 && len(probes) > 0
	return c
}

// Status returns what the status is to have; nil where there are no probes.
func (c Counts) Status() []common.ProbeRequests {
	if len(c.all) == 0 {
		return nil
	}
	counts := make([]common.ProbeRequests, 0, len(c.all))
	for i := range c.all {
		counts = append(counts, c.all[i].ProbeRequests)
	}
	return counts
}

// Exceeded names the probes with more failed requests than allowed. It is "" if there are none.
func (c Counts) Exceeded() string { return c.exceeded(c.Status()) }

// IsExceededIn reports whether that is in the status.
func (c Counts) IsExceededIn(stored []common.ProbeRequests) bool { return c.exceeded(stored) != "" }

func (c Counts) exceeded(counts []common.ProbeRequests) string {
	var texts []string
	for i := range c.probes {
		p := &c.probes[i]
		for _, n := range counts {
			if n.Name == p.Name && n.Failed > int64(*p.MaxFailures) {
				texts = append(texts, fmt.Sprintf("%s of %s of probe %s (maxFailures: %s)",
					grouped(n.Failed), grouped(n.Sent), p.Name, grouped(int64(*p.MaxFailures))))
			}
		}
	}
	return strings.Join(texts, ", ")
}

// NoneSent names the probes without any result. It is "" if there are none.
func (c Counts) NoneSent() string {
	return c.without("was sent", func(r *Requests) bool { return r.Sent+r.Inconclusive == 0 && !r.Unsettled })
}

// NoneSucceeded names the probes without a successful request. It is "" if there are none.
func (c Counts) NoneSucceeded() string {
	return c.without("has succeeded", func(r *Requests) bool { return r.Sent == r.Failed })
}

func (c Counts) without(what string, lacks func(*Requests) bool) string {
	var texts []string
	for i := range c.all {
		r := &c.all[i]
		if !lacks(r) {
			continue
		}
		text := "no request of probe " + r.Name + " " + what
		if r.NotSent != "" {
			text += " (" + r.NotSent + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// IsUnsettled reports whether some failures may not count in the end.
func (c Counts) IsUnsettled() bool {
	return slices.ContainsFunc(c.all, func(r Requests) bool { return r.Unsettled })
}

// Sentence returns what came of the requests of a disruption that ends, whose counts are in the status; empty where there were
// none. When they were sent is part of a sentence, such as "while it restarted".
func (c Counts) Sentence(stored []common.ProbeRequests, when string) string {
	total := Total(stored)
	if total == nil || total.Sent+total.Inconclusive == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s requests failed %s", grouped(total.Failed), grouped(total.Sent), when)
	if total.Inconclusive > 0 {
		text += fmt.Sprintf("; %s more do not count, since the operator's own network was in doubt", grouped(total.Inconclusive))
	}
	if c.isResumed {
		text += "; none was sent while no replica led"
	}
	return text
}

// Total sums the requests of all probes; nil where there are none.
func Total(probes []common.ProbeRequests) *common.RequestCounts {
	if len(probes) == 0 {
		return nil
	}
	total := &common.RequestCounts{}
	for i := range probes {
		p := &probes[i]
		total.Sent, total.Failed, total.Inconclusive = total.Sent+p.Sent, total.Failed+p.Failed, total.Inconclusive+p.Inconclusive
	}
	return total
}

// grouped returns a number with a comma after each thousand.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
