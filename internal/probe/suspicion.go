// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "net/netip"

const (
	// fewest is how many objects, destinations and namespaces must fail before the fault may be ours.
	// Where there are fewer namespaces, all of them must.
	fewest = 3
	// young is how many failures a streak may have that counts as new. The second failure comes one
	// interval after the first: every address that can fail has failed by then.
	young = 2
)

// standing is what one target contributes to the suspicion.
type standing struct {
	// member: it is healthy, or was until the streak that is new.
	member bool
	// failing: it has a running streak of failures.
	failing bool
	// young: that streak is new.
	young bool
}

// standing of a target. A denied one fails for a reason that is certain, and so counts as if it were
// not there.
func (c counter) standing(denied bool) standing {
	fresh := c.count < 0 && c.count >= -young
	if denied && c.count < 0 || c.condition != healthy && (!c.fell || !fresh) {
		return standing{}
	}
	return standing{member: true, failing: c.count < 0, young: fresh}
}

// tally adds up the targets of one object, or those that have the same destination.
type tally struct{ members, failing, young int32 }

func (t *tally) move(from, to standing) {
	t.members += one(to.member) - one(from.member)
	t.failing += one(to.failing) - one(from.failing)
	t.young += one(to.young) - one(from.young)
}

// lost says whether there are members, and all of them fail; newly whether some streak of theirs is new.
func (t *tally) lost() (lost, newly bool) {
	lost = t.members > 0 && t.failing == t.members
	return lost, lost && t.young > 0
}

// remote is where a check connects to: an address or a name with a port, or a group.
type remote struct {
	host string
	ip   netip.Addr
	port uint16
}

// destination is a remote as one namespace has it checked, by however many targets.
type destination struct {
	tally
	namespace *namespace
	remote    remote
	targets   int
}

// namespace adds up the objects and destinations of one. Another object, or another address of the
// same host and port, gives it no more weight.
type namespace struct {
	name string
	// users are its destinations and objects.
	users int
	// members, failing and young count destinations.
	members, failing, young int
	// lost and newly count objects that have nothing left.
	lost, newly int
}

// fails says whether most of what the namespace has checked fails, and some object has nothing left;
// newly whether that is new.
func (n *namespace) fails() (fails, newly bool) {
	return n.lost > 0 && 2*n.failing > n.members, n.newly > 0 && 2*n.young > n.members
}

// counts of one or all namespaces.
type counts struct {
	// members, failing and young count destinations, lost and newly objects.
	members, failing, young, lost, newly int
	// namespaces have members; of them fail most, and newly.
	namespaces, fail, failNewly int
}

func (c *counts) add(n *namespace, sign int) {
	c.members += sign * n.members
	c.failing += sign * n.failing
	c.young += sign * n.young
	c.lost += sign * n.lost
	c.newly += sign * n.newly
	if n.members > 0 {
		c.namespaces += sign
	}
	fails, newly := n.fails()
	c.fail += sign * int(one(fails))
	c.failNewly += sign * int(one(newly))
}

// suspicion adds up all of them. Every change costs the same, however many there are.
type suspicion struct {
	counts
	namespaces   map[string]*namespace
	destinations map[string]map[remote]*destination
	// broken is in how many namespaces a remote fails.
	broken map[remote]int
	on     bool
}

func newSuspicion() suspicion {
	return suspicion{namespaces: map[string]*namespace{}, destinations: map[string]map[remote]*destination{}, broken: map[remote]int{}}
}

// enter returns the counts of a namespace for one more user, and leave takes the user back.
func (s *suspicion) enter(name string) *namespace {
	n, ok := s.namespaces[name]
	if !ok {
		n = &namespace{name: name}
		s.namespaces[name] = n
	}
	n.users++
	return n
}

func (s *suspicion) leave(n *namespace) {
	if n.users--; n.users == 0 {
		delete(s.namespaces, n.name)
	}
}

// use returns the destination of one more target, and release takes the target back.
func (s *suspicion) use(n *namespace, at remote) *destination {
	d, ok := s.destinations[n.name][at]
	if !ok {
		if s.destinations[n.name] == nil {
			s.destinations[n.name] = map[remote]*destination{}
		}
		d = &destination{namespace: n, remote: at}
		s.destinations[n.name][at] = d
		n.users++
	}
	d.targets++
	return d
}

func (s *suspicion) release(d *destination) {
	if d.targets--; d.targets > 0 {
		return
	}
	delete(s.destinations[d.namespace.name], d.remote)
	if len(s.destinations[d.namespace.name]) == 0 {
		delete(s.destinations, d.namespace.name)
	}
	s.leave(d.namespace)
}

// move counts a target of an object and a destination as it stands now, instead of as it stood.
func (s *suspicion) move(object *tally, d *destination, from, to standing) {
	if from == to {
		return
	}
	s.add(object, d, -1)
	object.move(from, to)
	d.move(from, to)
	s.add(object, d, 1)
}

func (s *suspicion) add(object *tally, d *destination, sign int) {
	n := d.namespace
	s.counts.add(n, -1)
	lost, newly := object.lost()
	n.lost += sign * int(one(lost))
	n.newly += sign * int(one(newly))
	lost, newly = d.lost()
	n.members += sign * int(one(d.members > 0))
	n.failing += sign * int(one(lost))
	n.young += sign * int(one(newly))
	if lost {
		if s.broken[d.remote] += sign; s.broken[d.remote] == 0 {
			delete(s.broken, d.remote)
		}
	}
	s.counts.add(n, 1)
}

// judge says whether neighbors show that this process is suspect now. It takes many new failures to
// become so; and it takes many that succeed to end it, since the failures do not stay new.
func (s *suspicion) judge() bool {
	enough := min(fewest, s.counts.namespaces)
	switch {
	case len(s.broken) < fewest:
		s.on = false
	case s.on:
		s.on = s.lost >= fewest && 2*s.failing > s.members && s.fail >= enough && 2*s.fail > s.counts.namespaces
	default:
		s.on = s.newly >= fewest && 2*s.young > s.members && s.failNewly >= enough && 2*s.failNewly > s.counts.namespaces
	}
	return s.on
}

// wonders says whether so much has begun to fail that a reference should be asked: too little for a
// judgment may still be all that there is.
func (s *suspicion) wonders() bool {
	return s.newly > 0 && (2*s.young > s.members || 2*s.failNewly > s.counts.namespaces)
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}
