// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probing

const (
	// fewest is how many ExternalServices must have nothing left before the fault may be ours.
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

// tally adds up the targets of one ExternalService.
type tally struct{ members, failing, young int32 }

// suspicion adds up all of them. Every change costs the same, however many there are.
type suspicion struct {
	members, failing, young int
	// lost is how many ExternalServices have members, and all of them fail.
	lost int
	// newly is how many of the lost have a streak that is new.
	newly int
	on    bool
}

// move counts a target of t as it stands now, instead of as it stood.
func (s *suspicion) move(t *tally, from, to standing) {
	if from == to {
		return
	}
	s.add(t, -1)
	t.members += one(to.member) - one(from.member)
	t.failing += one(to.failing) - one(from.failing)
	t.young += one(to.young) - one(from.young)
	s.add(t, 1)
}

func (s *suspicion) add(t *tally, sign int) {
	s.members += sign * int(t.members)
	s.failing += sign * int(t.failing)
	s.young += sign * int(t.young)
	if t.members == 0 || t.failing != t.members {
		return
	}
	s.lost += sign
	if t.young > 0 {
		s.newly += sign
	}
}

// judge says whether this process is suspect now. It takes many new failures to become so; and it
// takes many that answer to end it, since the failures do not stay new.
func (s *suspicion) judge() bool {
	if s.on {
		s.on = 2*s.failing > s.members && s.lost >= fewest
	} else {
		s.on = 2*s.young > s.members && s.newly >= fewest
	}
	return s.on
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}
