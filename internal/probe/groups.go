// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "k8s.io/apimachinery/pkg/types"

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
