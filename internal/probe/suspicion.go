// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// minFailing is how many objects, destinations and namespaces must fail for a suspicion. Where there are fewer
	// namespaces, all of them must.
	minFailing = 3
	// maxRecentFailures is up to how many failures in a row count as recent. The second failure comes one interval
	// after the first: every address that can fail has failed by then.
	maxRecentFailures = 2
)

// suspicionShare is the contribution of a target to the suspicion.
type suspicionShare struct {
	// member: it is healthy, or was until its recent failures, or its address was before it was probed this way.
	member bool
	// failing: its last result is a failure.
	failing bool
	// recent: so were at most maxRecentFailures.
	recent bool
}

// suspicionShare returns the share of a target. A denied one fails for a certain reason, and does not count.
func (c counter) suspicionShare(denied bool) suspicionShare {
	fresh := c.count < 0 && c.count >= -maxRecentFailures
	trusted := c.condition == healthy || c.condition == unknown && c.used || c.fell && fresh
	if denied && c.count < 0 || !trusted {
		return suspicionShare{}
	}
	return suspicionShare{member: true, failing: c.count < 0, recent: fresh}
}

// targetCounts sums the targets of an object or of a destination.
type targetCounts struct{ members, failing, recent int32 }

func (c *targetCounts) update(from, to suspicionShare) {
	c.members += toInt(to.member) - toInt(from.member)
	c.failing += toInt(to.failing) - toInt(from.failing)
	c.recent += toInt(to.recent) - toInt(from.recent)
}

// allFailing reports whether there are members and all of them fail, and whether any does since recently.
func (c *targetCounts) allFailing() (lost, newly bool) {
	lost = c.members > 0 && c.failing == c.members
	return lost, lost && c.recent > 0
}

// destinationKey identifies the endpoint of a check: an address or a name with a port, or a group.
type destinationKey struct {
	host string
	ip   netip.Addr
	port uint16
}

// destination is an endpoint that one namespace checks, by one target or more.
type destination struct {
	targetCounts
	namespace *namespace
	key       destinationKey
	targets   int
}

// namespace sums the objects and destinations of a namespace.
type namespace struct {
	name string
	// promptLimiter spreads the first probes of its new targets.
	promptLimiter *rate.Limiter
	// users counts its destinations and objects.
	users int
	// members, failing and recent count destinations.
	members, failing, recent int
	// failedObjects and newly count objects that have nothing left.
	failedObjects, newlyFailed int
}

// isFailing reports whether most destinations of the namespace fail and all members of some object, and whether
// that is recent.
func (n *namespace) isFailing() (fails, newly bool) {
	return n.failedObjects > 0 && 2*n.failing > n.members, n.newlyFailed > 0 && 2*n.recent > n.members
}

// totals sums namespaces.
type totals struct {
	// members, failing and recent count destinations, failedObjects and newlyFailed objects.
	members, failing, recent, failedObjects, newlyFailed int
	// namespaces counts those with members.
	namespaces, failingNamespaces, newlyFailingNamespaces int
}

func (t *totals) add(n *namespace, sign int) {
	t.members += sign * n.members
	t.failing += sign * n.failing
	t.recent += sign * n.recent
	t.failedObjects += sign * n.failedObjects
	t.newlyFailed += sign * n.newlyFailed
	if n.members > 0 {
		t.namespaces += sign
	}
	fails, newly := n.isFailing()
	t.failingNamespaces += sign * int(toInt(fails))
	t.newlyFailingNamespaces += sign * int(toInt(newly))
}

// suspicion sums all namespaces. The cost of a change does not depend on their number.
type suspicion struct {
	totals
	namespaces   map[string]*namespace
	destinations map[string]map[destinationKey]*destination
	// failingIn is in how many namespaces a destination fails.
	failingIn map[destinationKey]int
	on        bool
}

func newSuspicion() suspicion {
	return suspicion{namespaces: map[string]*namespace{}, destinations: map[string]map[destinationKey]*destination{},
		failingIn: map[destinationKey]int{}}
}

// acquireNamespace returns a namespace for one more user, until releaseNamespace.
func (s *suspicion) acquireNamespace(name string) *namespace {
	n, ok := s.namespaces[name]
	if !ok {
		n = &namespace{name: name, promptLimiter: rate.NewLimiter(promptRate, promptBurst)}
		s.namespaces[name] = n
	}
	n.users++
	return n
}

func (s *suspicion) releaseNamespace(n *namespace) {
	if n.users--; n.users == 0 {
		delete(s.namespaces, n.name)
	}
}

// acquireDestination returns a destination for one more target, until releaseDestination.
func (s *suspicion) acquireDestination(n *namespace, at destinationKey) *destination {
	d, ok := s.destinations[n.name][at]
	if !ok {
		if s.destinations[n.name] == nil {
			s.destinations[n.name] = map[destinationKey]*destination{}
		}
		d = &destination{namespace: n, key: at}
		s.destinations[n.name][at] = d
		n.users++
	}
	d.targets++
	return d
}

func (s *suspicion) releaseDestination(d *destination) {
	if d.targets--; d.targets > 0 {
		return
	}
	delete(s.destinations[d.namespace.name], d.key)
	if len(s.destinations[d.namespace.name]) == 0 {
		delete(s.destinations, d.namespace.name)
	}
	s.releaseNamespace(d.namespace)
}

// update replaces the share of a target of an object and a destination.
func (s *suspicion) update(object *targetCounts, d *destination, from, to suspicionShare) {
	if from == to {
		return
	}
	s.add(object, d, -1)
	object.update(from, to)
	d.update(from, to)
	s.add(object, d, 1)
}

func (s *suspicion) add(object *targetCounts, d *destination, sign int) {
	n := d.namespace
	s.totals.add(n, -1)
	lost, newly := object.allFailing()
	n.failedObjects += sign * int(toInt(lost))
	n.newlyFailed += sign * int(toInt(newly))
	lost, newly = d.allFailing()
	n.members += sign * int(toInt(d.members > 0))
	n.failing += sign * int(toInt(lost))
	n.recent += sign * int(toInt(newly))
	if lost {
		if s.failingIn[d.key] += sign; s.failingIn[d.key] == 0 {
			delete(s.failingIn, d.key)
		}
	}
	s.totals.add(n, 1)
}

// evaluate reports whether the failures make this process suspect. It takes many recent failures to become so, and
// many successes to end it, since failures do not stay recent.
func (s *suspicion) evaluate() bool {
	enough := min(minFailing, s.totals.namespaces)
	switch {
	case len(s.failingIn) < minFailing:
		s.on = false
	case s.on:
		s.on = s.failedObjects >= minFailing && 2*s.failing > s.members && s.failingNamespaces >= enough &&
			2*s.failingNamespaces > s.totals.namespaces
	default:
		s.on = s.newlyFailed >= minFailing && 2*s.recent > s.members && s.newlyFailingNamespaces >= enough &&
			2*s.newlyFailingNamespaces > s.totals.namespaces
	}
	return s.on
}

// needsReference reports whether the reference should be checked: too few failures for a suspicion may still be of
// all that is checked.
func (s *suspicion) needsReference() bool {
	return s.newlyFailed > 0 && (2*s.recent > s.members || 2*s.newlyFailingNamespaces > s.totals.namespaces)
}

func toInt(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// groupCounts are the counts that the objects of a group share.
type groupCounts map[string]*sharedCounts

// sharedCounts are counts, and how many objects share them.
type sharedCounts struct {
	targetCounts
	objects int
}

// acquire returns the counts of a group for one more object, until release. Without a group they are its own.
func (groups groupCounts) acquire(group string) *targetCounts {
	if group == "" {
		return &targetCounts{}
	}
	s, ok := groups[group]
	if !ok {
		s = &sharedCounts{}
		groups[group] = s
	}
	s.objects++
	return &s.targetCounts
}

func (groups groupCounts) release(group string) {
	s, ok := groups[group]
	if !ok {
		return
	}
	if s.objects--; s.objects == 0 {
		delete(groups, group)
	}
}

func (p *Prober) group(key types.NamespacedName) string {
	if p.options.Group == nil {
		return ""
	}
	return p.options.Group(key)
}
