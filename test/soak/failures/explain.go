// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failures

import (
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
	"github.com/fairlead-dev/fairlead/test/soak/proxy"
)

// Verdict is the explanation of failed requests.
type Verdict struct {
	// Held failed with a call that a replica had when it ended or was cut off.
	Held []counters.Request
	// Missed failed with a call that was sent to it later.
	Missed []counters.Request
	// Unexplained failed for no known reason.
	Unexplained []counters.Request
}

// Explain matches failed requests with losses, as many as possible. A request takes several calls one after the other. At most
// one of them is lost, so each request needs a loss of its own.
func Explain(failed []counters.Request, losses []proxy.Loss) Verdict {
	m := matching{failed: failed, losses: losses, taken: make([]int, len(losses))}
	for i := range m.taken {
		m.taken[i] = unknown
	}
	var v Verdict
	for i := range failed {
		if !m.place(i, make([]bool, len(losses))) {
			v.Unexplained = append(v.Unexplained, failed[i])
		}
	}
	for i, request := range m.taken {
		switch {
		case request == unknown:
		case losses[i].Held:
			v.Held = append(v.Held, failed[request])
		default:
			v.Missed = append(v.Missed, failed[request])
		}
	}
	bySending := func(a, b counters.Request) int { return a.Sent.Compare(b.Sent) }
	slices.SortFunc(v.Held, bySending)
	slices.SortFunc(v.Missed, bySending)
	return v
}

// unknown is the request that takes a loss that explains none.
const unknown = -1

// matching grows by one request after the other, by augmenting paths.
type matching struct {
	failed []counters.Request
	losses []proxy.Loss
	taken  []int // which request each loss explains
}

// place finds a loss for a request, if need be by finding another one for the request that has it.
func (m *matching) place(request int, tried []bool) bool {
	for i, loss := range m.losses {
		if tried[i] || !underWay(m.failed[request], loss) {
			continue
		}
		tried[i] = true
		if m.taken[i] == unknown || m.place(m.taken[i], tried) {
			m.taken[i] = request
			return true
		}
	}
	return false
}

// underWay says whether a request was under way when a call was lost. When that was is known between
// two moments.
func underWay(r counters.Request, loss proxy.Loss) bool {
	return !r.Sent.After(loss.To) && !end(r).Before(loss.From)
}

func end(r counters.Request) time.Time { return r.Sent.Add(r.Took) }
