// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clientprobe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Sender sends the requests of verification.probes of all objects of one kind. It is safe for concurrent use.
type Sender struct {
	prober *probe.Prober
	notify func(object types.NamespacedName)
	// setMu serializes Set. It is locked before mu, and mu is never held while the prober may notify.
	setMu sync.Mutex

	mu sync.Mutex
	// objects have their probes by name, and byKey has the same by the prober's keys.
	objects map[types.NamespacedName]map[string]*sending
	byKey   map[types.NamespacedName]*sending
}

// New returns a Sender that sends nothing. The prober groups its keys by Group, and calls OnChange. Notify is called with an object
// when its requests may decide something: the first, the first that succeeds, those that are more than may fail, and failures that
// are settled. It must not block, nor call Set.
func New(prober *probe.Prober, notify func(object types.NamespacedName)) *Sender {
	return &Sender{prober: prober, notify: notify, objects: map[types.NamespacedName]map[string]*sending{},
		byKey: map[types.NamespacedName]*sending{}}
}

// Want is one of verification.probes.
type Want struct {
	// Probe is valid and has its defaults.
	Probe *common.VerificationProbe
	// Secrets is the content of the Secrets that it names.
	Secrets probe.Secrets
	// Unsupported is why nothing can be sent, in one word; empty where something can.
	Unsupported string
}

// Wants returns the probes of a namespace with the content of their Secrets, and when that is read again; zero for never.
func Wants(ctx context.Context, secrets *checksecrets.Reader, namespace string, probes []common.VerificationProbe) ([]Want, time.Time) {
	wants, again := make([]Want, 0, len(probes)), time.Time{}
	for i := range probes {
		want := Want{Probe: &probes[i]}
		check := probes[i].Check()
		content := secrets.Of(ctx, namespace, field.NewPath("verification", "probes").Index(i), &check, time.Time{})
		want.Secrets, again = content.Secrets, controller.Earliest(again, content.Due)
		if content.Problem != "" {
			want.Unsupported = common.ReasonSecretUnavailable
		}
		wants = append(wants, want)
	}
	return wants, again
}

// Disruption is a restart or a run that requests are counted for.
type Disruption struct {
	ID string
	// Stored are the counts in the status. Resumed means that another process began the disruption. Both apply only until this
	// process counts for the disruption itself.
	Stored  []common.ProbeRequests
	Resumed bool
}

// counted is a disruption as one probe counts it.
type counted struct {
	before  common.RequestCounts
	resumed bool
}

// sending is one of an object's verification.probes. The prober counts under the IDs of the disruptions.
type sending struct {
	object types.NamespacedName
	// key of the prober's target; none where unsupported says why there is none.
	key         types.NamespacedName
	unsupported string
	maxFailures int64
	disruptions map[string]counted
	notified    map[string]notifiedRequests // by the ID of the disruption
}

// notifiedRequests is the part of requests whose changes are notified.
type notifiedRequests struct{ answered, succeeded, exceeded, unsettled bool }

// Set replaces the requests that are sent for an object's disruptions: none where there is no disruption. One host is asked once
// for all of them. A probe or disruption that stays keeps its counts, also where the probe is another one of its name.
func (s *Sender) Set(object types.NamespacedName, wants []Want, disruptions []Disruption) {
	if len(disruptions) == 0 {
		wants = nil
	}
	s.setMu.Lock()
	defer s.setMu.Unlock()
	s.mu.Lock()
	former := s.objects[object]
	s.mu.Unlock()
	if len(former) == 0 && len(wants) == 0 {
		return
	}
	next := make(map[string]*sending, len(wants))
	for i := range wants {
		next[wants[i].Probe.Name] = s.start(object, &wants[i], disruptions, former)
	}
	s.mu.Lock()
	var over []types.NamespacedName
	for name, was := range former {
		if is := next[name]; was.unsupported == "" && (is == nil || is.key != was.key) {
			delete(s.byKey, was.key)
			over = append(over, was.key)
		}
	}
	changed := false
	for name, is := range next {
		if is.unsupported == "" {
			s.byKey[is.key] = is
		}
		if was := former[name]; was != nil {
			is.notified = was.notified
		}
		changed = s.isNews(is) || changed
	}
	if s.objects[object] = next; len(next) == 0 {
		delete(s.objects, object)
	}
	s.mu.Unlock()
	if changed { // since the caller has read the requests, or before the key was known here
		s.notify(object)
	}
	for _, key := range over {
		s.prober.Forget(key)
	}
}

// start passes a probe to the prober.
func (s *Sender) start(object types.NamespacedName, want *Want, disruptions []Disruption, former map[string]*sending) *sending {
	p := want.Probe
	is := &sending{
		object: object, unsupported: want.Unsupported, maxFailures: int64(*p.MaxFailures),
		disruptions: make(map[string]counted, len(disruptions)),
	}
	if is.unsupported == "" { // with two spaces, which nothing else has that is asked
		is.key = HostKey(object, "verification "+p.Name+" "+identityOf(p), p.Host)
	}
	was := former[p.Name]
	ids := make([]string, 0, len(disruptions))
	for i := range disruptions {
		d := &disruptions[i]
		is.disruptions[d.ID] = s.countedOf(d, p.Name, is.key, was, former)
		ids = append(ids, d.ID)
	}
	if is.unsupported == "" {
		check := p.Check()
		rules.DefaultCheck(&check, rules.VerificationProbeDefaults)
		target := probe.Target{Port: uint16(check.Port().IntVal)}
		if ip, err := netip.ParseAddr(p.Host); err == nil {
			target.IP = ip
		} else {
			target.Host = p.Host
		}
		s.prober.Set(is.key, probe.Check{Check: check, Secrets: want.Secrets}, []probe.Target{target})
		s.prober.Count(is.key, ids...)
	}
	return is
}

// countedOf returns a disruption as a probe counts it from now on under a key. The former one of its name may have been another.
func (s *Sender) countedOf(d *Disruption, name string, key types.NamespacedName, was *sending, former map[string]*sending) counted {
	if was != nil {
		if known, ok := was.disruptions[d.ID]; ok {
			if was.key != key {
				known.before = s.requestsOf(was, name, d.ID).RequestCounts
			}
			return known
		}
	}
	c := counted{resumed: d.Resumed}
	for _, other := range former { // a probe that is added later is no other process
		if known, ok := other.disruptions[d.ID]; ok {
			c.resumed = known.resumed
		}
	}
	for i := range d.Stored {
		if d.Stored[i].Name == name {
			c.before = d.Stored[i].RequestCounts
		}
	}
	return c
}

// Requests returns the requests of a disruption by all probes that count for it, by the names of the probes.
func (s *Sender) Requests(object types.NamespacedName, disruption string) []requestcount.Requests {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []requestcount.Requests
	for _, name := range slices.Sorted(maps.Keys(s.objects[object])) {
		if of := s.objects[object][name]; isCounted(of, disruption) {
			all = append(all, s.requestsOf(of, name, disruption))
		}
	}
	return all
}

func isCounted(of *sending, disruption string) bool {
	_, ok := of.disruptions[disruption]
	return ok
}

func (s *Sender) requestsOf(of *sending, name, disruption string) requestcount.Requests {
	c := of.disruptions[disruption]
	r := requestcount.Requests{
		ProbeRequests: common.ProbeRequests{Name: name, RequestCounts: c.before}, NotSent: of.unsupported, Resumed: c.resumed,
	}
	if of.unsupported == "" {
		t := s.prober.Tally(of.key, disruption)
		r.Sent, r.Failed, r.Inconclusive = r.Sent+t.Sent, r.Failed+t.Failed, r.Inconclusive+t.Inconclusive
		r.Unsettled, r.NotSent = t.Unsettled > 0, t.NotProbed
	}
	return r
}

func (s *Sender) notifiedRequestsOf(of *sending, disruption string) notifiedRequests {
	r := s.requestsOf(of, "", disruption)
	return notifiedRequests{
		answered: r.Sent+r.Inconclusive > 0, succeeded: r.Sent > r.Failed, exceeded: r.Failed > of.maxFailures, unsettled: r.Unsettled,
	}
}

// isNews reports whether the requests may decide something that was not notified of, and takes it as notified. mu is held.
func (s *Sender) isNews(of *sending) (changed bool) {
	notified := make(map[string]notifiedRequests, len(of.disruptions))
	for id := range of.disruptions {
		notified[id] = s.notifiedRequestsOf(of, id)
		changed = changed || notified[id] != of.notified[id]
	}
	of.notified = notified
	return changed
}

// OnChange notifies about a key of the prober if its requests may now change a decision. It reports whether the key belongs to
// the Sender.
func (s *Sender) OnChange(key types.NamespacedName) bool {
	s.mu.Lock()
	of, ok := s.byKey[key]
	changed := false
	if ok {
		changed = s.isNews(of)
	}
	s.mu.Unlock()
	if changed {
		s.notify(of.object)
	}
	return ok
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
