// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Verification is one of verification.probes, and the restarts in flight that it counts for.
type Verification struct {
	// Probe is valid and has its defaults.
	Probe *common.VerificationProbe
	// Roots are the certificates of its tls.caSecretName.
	Roots []byte
	// Unsupported is why nothing can be sent, in one word; empty where something can.
	Unsupported string
	Restarts    []Counted
}

// Counted is a restart that requests are counted for.
type Counted struct {
	ID string
	// Before is what the status has of it, and Resumed that another process has begun it. Both count only for a restart that
	// this process does not count for yet.
	Before  common.RequestCounts
	Resumed bool
}

// Requests are those of one of verification.probes during a restart.
type Requests struct {
	common.RequestCounts
	// Unsettled means that it is not known yet whether some failures are the fault of this process.
	Unsettled bool
	// NotSent is why the latest request was not sent, in one word; empty where it was.
	NotSent string
	// Resumed means that another process has begun the restart, so that a part of it was not observed.
	Resumed bool
}

// verification is one of a policy's verification.probes. The prober counts under the ids of the restarts.
type verification struct {
	policy types.NamespacedName
	// key of the prober's target; none where unsupported says why there is none.
	key         types.NamespacedName
	unsupported string
	maxFailures int64
	restarts    map[string]Counted
	notified    map[string]notifiedRequests
}

// notifiedRequests is the part of Requests whose changes are notified.
type notifiedRequests struct{ answered, exceeded, unsettled bool }

// SetVerification replaces the requests that are sent for a policy's restarts in flight. One host is asked once for all of
// them. A probe or restart that stays keeps its counts, also where the probe is another one of its name.
func (c *Checks) SetVerification(policy types.NamespacedName, wants []Verification) {
	c.setMu.Lock()
	defer c.setMu.Unlock()
	c.mu.Lock()
	former := c.verifications[policy]
	c.mu.Unlock()
	if len(former) == 0 && len(wants) == 0 {
		return
	}
	next := make(map[string]*verification, len(wants))
	for i := range wants {
		want := &wants[i]
		next[want.Probe.Name] = c.startVerification(policy, want, former)
	}
	c.mu.Lock()
	var over []types.NamespacedName
	for name, was := range former {
		if is := next[name]; was.unsupported == "" && (is == nil || is.key != was.key) {
			delete(c.verificationOf, was.key)
			over = append(over, was.key)
		}
	}
	for _, v := range next {
		if v.unsupported == "" {
			c.verificationOf[v.key] = v
		}
		for id := range v.restarts {
			v.notified[id] = c.notifiedRequestsOf(v, id)
		}
	}
	if c.verifications[policy] = next; len(next) == 0 {
		delete(c.verifications, policy)
	}
	c.mu.Unlock()
	for _, key := range over {
		c.prober.Forget(key)
	}
}

// startVerification passes a probe to the prober.
func (c *Checks) startVerification(policy types.NamespacedName, want *Verification, former map[string]*verification) *verification {
	p := want.Probe
	v := &verification{
		policy: policy, unsupported: want.Unsupported, maxFailures: int64(*p.MaxFailures),
		restarts: make(map[string]Counted, len(want.Restarts)), notified: map[string]notifiedRequests{},
	}
	if v.unsupported == "" {
		v.key = hostKey(policy, "verification "+p.Name+" "+identityOf(p), p.Host)
	}
	was := former[p.Name]
	ids := make([]string, 0, len(want.Restarts))
	for _, restart := range want.Restarts {
		for _, other := range former { // a probe that is added later is no other process
			if known, ok := other.restarts[restart.ID]; ok {
				restart.Resumed = known.Resumed
			}
		}
		if was != nil {
			if known, ok := was.restarts[restart.ID]; ok {
				restart = known
				if was.key != v.key {
					restart.Before = c.requestsOf(was, restart.ID).RequestCounts
				}
			}
		}
		v.restarts[restart.ID] = restart
		ids = append(ids, restart.ID)
	}
	if v.unsupported == "" {
		check := p.Check()
		rules.DefaultCheck(&check, rules.VerificationProbeDefaults)
		target := probe.Target{Port: uint16(check.Port().IntVal)}
		if ip, err := netip.ParseAddr(p.Host); err == nil {
			target.IP = ip
		} else {
			target.Host = p.Host
		}
		c.prober.Set(v.key, probe.Check{Check: check, RootPEM: want.Roots}, []probe.Target{target})
		c.prober.Count(v.key, ids...)
	}
	return v
}

// Requests returns the requests of a probe during a restart, and whether they are counted.
func (c *Checks) Requests(policy types.NamespacedName, probe, restart string) (Requests, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.verifications[policy][probe]
	if v == nil {
		return Requests{}, false
	}
	if _, ok := v.restarts[restart]; !ok {
		return Requests{}, false
	}
	return c.requestsOf(v, restart), true
}

func (c *Checks) requestsOf(v *verification, restart string) Requests {
	counted := v.restarts[restart]
	r := Requests{RequestCounts: counted.Before, NotSent: v.unsupported, Resumed: counted.Resumed}
	if v.unsupported == "" {
		t := c.prober.Tally(v.key, restart)
		r.Sent, r.Failed, r.Inconclusive = r.Sent+t.Sent, r.Failed+t.Failed, r.Inconclusive+t.Inconclusive
		r.Unsettled, r.NotSent = t.Unsettled > 0, t.NotProbed
	}
	return r
}

func (c *Checks) notifiedRequestsOf(v *verification, restart string) notifiedRequests {
	r := c.requestsOf(v, restart)
	return notifiedRequests{answered: r.Sent+r.Inconclusive > 0, exceeded: r.Failed > v.maxFailures, unsettled: r.Unsettled}
}

// onRequest notifies about a probe of which the requests may decide something now. c.mu is held.
func (c *Checks) onRequest(v *verification) (changed bool) {
	for id := range v.restarts {
		if now := c.notifiedRequestsOf(v, id); now != v.notified[id] {
			v.notified[id], changed = now, true
		}
	}
	return changed
}

// identityOf returns a short hash of what a probe asks, whatever its times are.
func identityOf(p *common.VerificationProbe) string {
	asked, err := json.Marshal(common.VerificationProbe{Host: p.Host, TCPSocket: p.TCPSocket, HTTPGet: p.HTTPGet, GRPC: p.GRPC, TLS: p.TLS})
	if err != nil {
		return "" // a probe was JSON before
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:8])
}
