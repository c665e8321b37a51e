// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "k8s.io/apimachinery/pkg/types"

// tallies are those that several objects share.
type tallies map[string]*shared

// shared is a tally, and how many objects have it.
type shared struct {
	tally
	objects int
}

// take returns the tally of a group, which is the object's own where the group has no name.
func (all tallies) take(group string) *tally {
	if group == "" {
		return &tally{}
	}
	s, ok := all[group]
	if !ok {
		s = &shared{}
		all[group] = s
	}
	s.objects++
	return &s.tally
}

// give takes back what an object has taken.
func (all tallies) give(group string) {
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
