// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const chain = "service-4UBW5KYF-fairlead-system/fairlead-webhook/tcp/webhook"

// rule is a notice as nft prints it.
func rule(addresses ...string) string {
	if len(addresses) == 1 {
		return "add rule ip kube-proxy " + chain + " meta l4proto tcp dnat ip to " + addresses[0] + ":9443\n"
	}
	var entries []string
	for i, a := range addresses {
		entries = append(entries, fmt.Sprintf("%d : %s . 9443", i, a))
	}
	return fmt.Sprintf("add rule ip kube-proxy %s meta l4proto tcp dnat ip to numgen random mod %d map { %s }\n", chain, len(addresses), strings.Join(entries, ", "))
}

// play holds the events, at seconds after the start.
type play struct {
	r   *routes
	now time.Time
}

func newPlay() *play { return &play{newRoutes("fairlead-system", "fairlead-webhook"), time.Unix(0, 0)} }

func (p *play) at(seconds float64) time.Time {
	return p.now.Add(time.Duration(seconds * float64(time.Second)))
}

func (p *play) rule(seconds float64, addresses ...string) {
	p.r.follow(strings.NewReader(rule(addresses...)), func() time.Time { return p.at(seconds) })
}

func (p *play) wants(t *testing.T, want ...lag) {
	t.Helper()
	if diff := cmp.Diff(want, p.r.take(), cmp.AllowUnexported(lag{})); diff != "" {
		t.Error(diff)
	}
}

func TestALagLastsFromThePodsDepartureToTheRuleWithoutIt(t *testing.T) {
	p := newPlay()
	p.rule(0, "10.244.1.2", "10.244.1.3")
	p.r.departs("10.244.1.2", terminating, p.at(1))
	p.r.departs("10.244.1.2", unready, p.at(1.5)) // the same departure
	if !p.r.leads("10.244.1.2") {
		t.Error("the rule is still there")
	}
	p.rule(2, "10.244.1.2", "10.244.1.3", "10.244.1.4")
	p.rule(3, "10.244.1.3")
	if p.r.leads("10.244.1.2") || !p.r.leads("10.244.1.3") {
		t.Error("the rule of a single endpoint was not understood")
	}
	p.wants(t, lag{"10.244.1.2", terminating, 2 * time.Second})
	p.wants(t)
}

func TestARuleThatWasFasterThanTheNewsHadNoLag(t *testing.T) {
	p := newPlay()
	p.rule(0, "10.244.1.2", "10.244.1.3")
	p.rule(1, "10.244.1.3")
	p.r.departs("10.244.1.2", terminating, p.at(1.1))
	p.wants(t, lag{"10.244.1.2", terminating, 0})
}

func TestPodsThatTheServiceNeverLedToAreLateForNothing(t *testing.T) {
	p := newPlay()
	p.r.departs("10.244.1.9", unready, p.at(1)) // it starts
	p.rule(2, "10.244.1.9")
	p.rule(3, "10.244.1.8")
	p.wants(t)
}

func TestAPodThatIsReadyAgainHadNoDeparture(t *testing.T) {
	p := newPlay()
	p.rule(0, "10.244.1.2", "10.244.1.3")
	p.r.departs("10.244.1.2", unready, p.at(1))
	p.r.returns("10.244.1.2")
	p.r.departs("10.244.1.2", terminating, p.at(8))
	p.rule(9, "10.244.1.3")
	p.wants(t, lag{"10.244.1.2", terminating, time.Second})
}

func TestNoticesOfOtherRulesAreNotOurs(t *testing.T) {
	r := newRoutes("fairlead-system", "fairlead-webhook")
	for _, notice := range []string{
		"delete rule ip kube-proxy " + chain + " handle 63",
		"add rule ip kube-proxy service-OTHER-shop/web/tcp/http meta l4proto tcp dnat ip to 10.244.1.2:8080",
		"add rule ip kube-proxy masquerading mark",
	} {
		if addresses, ours := r.parse(notice); ours {
			t.Errorf("%s: %v", notice, addresses)
		}
	}
}
