// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package requestcount

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

func requests(name string, sent, failed int64) Requests {
	return Requests{ProbeRequests: common.ProbeRequests{Name: name, RequestCounts: common.RequestCounts{Sent: sent, Failed: failed}}}
}

func TestWhatIsObservedComesBeforeWhatIsStoredByName(t *testing.T) {
	probes := []common.VerificationProbe{{Name: "a", MaxFailures: ptr.To[int32](1)}, {Name: "b", MaxFailures: ptr.To[int32](0)}, {Name: "c", MaxFailures: ptr.To[int32](0)}}
	stored := []common.ProbeRequests{requests("b", 9, 1).ProbeRequests, requests("a", 1000, 2).ProbeRequests, requests("gone", 5, 5).ProbeRequests}
	c := New(probes, stored, []Requests{requests("a", 1240, 1)})
	if got := c.Status(); len(got) != 3 || got[0].Sent != 1240 || got[1].Sent != 9 || got[2].Name != "c" || got[2].Sent != 0 {
		t.Errorf("%+v", got)
	}
	if got, want := c.Exceeded(), "1 of 9 of probe b (maxFailures: 0)"; got != want || !c.IsExceededIn(stored) || c.IsExceededIn(nil) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.NoneSent(), "no request of probe c was sent"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	failed := requests("b", 3, 3)
	failed.NotSent = "HostUnresolved"
	if got, want := New(probes, nil, []Requests{requests("a", 2, 1), failed}).NoneSucceeded(),
		"no request of probe b has succeeded (HostUnresolved), no request of probe c has succeeded"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	unsettled := requests("c", 0, 0)
	unsettled.Unsettled = true
	if c := New(probes[2:], nil, []Requests{unsettled}); !c.IsUnsettled() || c.NoneSent() != "" || c.NoneSucceeded() == "" {
		t.Errorf("%+v", c)
	}
	if c := New(nil, stored, nil); c.Status() != nil || c.Exceeded() != "" || c.NoneSucceeded() != "" || c.Sentence(nil, "") != "" || Total(nil) != nil {
		t.Errorf("without probes: %+v", c)
	}
}

func TestTheSentenceHasWhatDoesNotCount(t *testing.T) {
	probes := []common.VerificationProbe{{Name: "a", MaxFailures: ptr.To[int32](0)}}
	stored := []common.ProbeRequests{requests("a", 1240, 0).ProbeRequests}
	observed := requests("a", 1240, 0)
	for want, of := range map[string]func(){
		"0 of 1,240 requests failed meanwhile": func() {},
		"0 of 1,240 requests failed meanwhile; 7 more do not count, since the operator's own network was in doubt": func() { stored[0].Inconclusive = 7 },
		"0 of 1,240 requests failed meanwhile; none was sent while no replica led":                                 func() { observed.Resumed = true },
	} {
		stored[0].Inconclusive, observed.Resumed = 0, false
		of()
		if got := New(probes, stored, []Requests{observed}).Sentence(stored, "meanwhile"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := New(probes, stored, nil).Sentence(stored, "then"), "0 of 1,240 requests failed then"; len(got) <= len(want) || got[:len(want)] != want {
		t.Errorf("nothing is observed yet: %q", got)
	}
}

func TestNumbersHaveACommaAfterEachThousand(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1240: "1,240", 1234567: "1,234,567", 100000: "100,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
