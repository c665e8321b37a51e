// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// minFailing is how many objects, destinations and namespaces must fail before the fault may be ours.
	// Where there are fewer namespaces, all of them must.
	minFailing = 3
	// maxRecentFailures is how many failures a streak may have that counts as new. The second failure comes one
	// interval after the first: every address that can fail has failed by then.
	maxRecentFailures = 2
)

// suspicionShare is what one target contributes to the suspicion.
type suspicionShare struct {
	// member: it is healthy, or was until the streak that is new.
	member bool
	// failing: it has a running streak of failures.
	failing bool
	// recent: that streak is new.
	recent bool
}

// suspicionShare of a target. A denied one fails for a reason that is certain, and so counts as if it were
// not there.
func (c counter) suspicionShare(denied bool) suspicionShare {
	fresh := c.count < 0 && c.count >= -maxRecentFailures
	if denied && c.count < 0 || c.condition != healthy && (!c.fell || !fresh) {
		return suspicionShare{}
	}
	return suspicionShare{member: true, failing: c.count < 0, recent: fresh}
}

// targetCounts adds up the targets of one object, or those that have the same destination.
type targetCounts struct{ members, failing, recent int32 }

func (t *targetCounts) update(from, to suspicionShare) {
	t.members += toInt(to.member) - toInt(from.member)
	t.failing += toInt(to.failing) - toInt(from.failing)
	t.recent += toInt(to.recent) - toInt(from.recent)
}

// allFailing says whether there are members, and all of them fail; newly whether some streak of theirs is new.
func (t *targetCounts) allFailing() (lost, newly bool) {
	lost = t.members > 0 && t.failing == t.members
	return lost, lost && t.recent > 0
}

// destinationKey is where a check connects to: an address or a name with a port, or a group.
type destinationKey struct {
	host string
	ip   netip.Addr
	port uint16
}

// destination is a remote as one namespace has it checked, by however many targets.
type destination struct {
	targetCounts
	namespace *namespace
	key       destinationKey
	targets   int
}

// namespace adds up the objects and destinations of one. Another object, or another address of the
// same host and port, gives it no more weight.
type namespace struct {
	name string
	// users are its destinations and objects.
	users int
	// members, failing and young count destinations.
	members, failing, recent int
	// failedObjects and newly count objects that have nothing left.
	failedObjects, newlyFailed int
}

// isFailing says whether most of what the namespace has checked fails, and some object has nothing left;
// newly whether that is new.
func (n *namespace) isFailing() (fails, newly bool) {
	return n.failedObjects > 0 && 2*n.failing > n.members, n.newlyFailed > 0 && 2*n.recent > n.members
}

// totals of one or all namespaces.
type totals struct {
	// members, failing and young count destinations, lost and newly objects.
	members, failing, recent, failedObjects, newlyFailed int
	// namespaces have members; of them fail most, and newly.
	namespaces, failingNamespaces, newlyFailingNamespaces int
}

func (c *totals) add(n *namespace, sign int) {
	c.members += sign * n.members
	c.failing += sign * n.failing
	c.recent += sign * n.recent
	c.failedObjects += sign * n.failedObjects
	c.newlyFailed += sign * n.newlyFailed
	if n.members > 0 {
		c.namespaces += sign
	}
	fails, newly := n.isFailing()
	c.failingNamespaces += sign * int(toInt(fails))
	c.newlyFailingNamespaces += sign * int(toInt(newly))
}

// suspicion adds up all of them. Every change costs the same, however many there are.
type suspicion struct {
	totals
	namespaces   map[string]*namespace
	destinations map[string]map[destinationKey]*destination
	// failingIn is in how many namespaces a remote fails.
	failingIn map[destinationKey]int
	on        bool
}

func newSuspicion() suspicion {
	return suspicion{namespaces: map[string]*namespace{}, destinations: map[string]map[destinationKey]*destination{}, failingIn: map[destinationKey]int{}}
}

// acquireNamespace returns the counts of a namespace for one more user, and leave takes the user back.
func (s *suspicion) acquireNamespace(name string) *namespace {
	n, ok := s.namespaces[name]
	if !ok {
		n = &namespace{name: name}
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

// acquireDestination returns the destination of one more target, and release takes the target back.
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

// update counts a target of an object and a destination as it stands now, instead of as it stood.
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

// evaluate says whether neighbors show that this process is suspect now. It takes many new failures to
// become so; and it takes many that succeed to end it, since the failures do not stay new.
func (s *suspicion) evaluate() bool {
	enough := min(minFailing, s.totals.namespaces)
	switch {
	case len(s.failingIn) < minFailing:
		s.on = false
	case s.on:
		s.on = s.failedObjects >= minFailing && 2*s.failing > s.members && s.failingNamespaces >= enough && 2*s.failingNamespaces > s.totals.namespaces
	default:
		s.on = s.newlyFailed >= minFailing && 2*s.recent > s.members && s.newlyFailingNamespaces >= enough && 2*s.newlyFailingNamespaces > s.totals.namespaces
	}
	return s.on
}

// needsReference says whether so much has begun to fail that a reference should be asked: too little for a
// judgment may still be all that there is.
func (s *suspicion) needsReference() bool {
	return s.newlyFailed > 0 && (2*s.recent > s.members || 2*s.newlyFailingNamespaces > s.totals.namespaces)
}

func toInt(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// groupCounts are those that several objects share.
type groupCounts map[string]*sharedCounts

// sharedCounts is a tally, and how many objects have it.
type sharedCounts struct {
	targetCounts
	objects int
}

// acquire returns the tally of a group, which is the object's own where the group has no name.
func (all groupCounts) acquire(group string) *targetCounts {
	if group == "" {
		return &targetCounts{}
	}
	s, ok := all[group]
	if !ok {
		s = &sharedCounts{}
		all[group] = s
	}
	s.objects++
	return &s.targetCounts
}

// release takes back what an object has taken.
func (all groupCounts) release(group string) {
	s, ok := all[group]
	if !ok {
		return
	}
	if s.objects--; s.objects == 0 {
		delete(all, group)
	}
}

// group is Options.Group of a key.
func (p *Prober) group(key types.NamespacedName) string {
	if p.Group == nil {
		return ""
	}
	return p.Group(key)
}
