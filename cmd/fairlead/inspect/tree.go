// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/labels"
)

// Branch is an object in a tree, with what it stands for below it: below an ExternalService its NetworkPolicy and what depends on
// it, below a policy or a ChaosPod the workloads that it acts on, and below a workload what it needs and what acts on it.
type Branch struct {
	Key
	// Role is what the object is to the one above it. It is empty for a root.
	Role   string `json:"role,omitempty"`
	Health Health `json:"health"`
	Said   string `json:"said,omitempty"`
	// Waiting is the message of what waits. It may be empty.
	Waiting  string   `json:"waiting,omitempty"`
	Branches []Branch `json:"branches,omitempty"`
}

// Status is what a user sees of Fairlead.
type Status struct {
	Trees []Branch `json:"trees"`
	// Leaders are who reconciles, as far as that could be read.
	Leaders []Leader `json:"leaders,omitempty"`
	Unread  []Unread `json:"unread,omitempty"`
}

// Status returns the trees of the objects of Fairlead that have the labels; those that stand in the tree of another one are no
// roots of their own.
func (g *Graph) Status(selector labels.Selector) *Status {
	s, shown := &Status{Trees: []Branch{}, Leaders: g.leaders, Unread: g.Unread}, map[*Object]bool{}
	for _, o := range g.Objects { // ExternalServices come first
		isRoot := o.Source != nil && !IsWorkload(o.Kind) && o.Kind != NetworkPolicy && (o.Kind == ExternalService || !shown[o])
		if !isRoot || !g.concerns(o) || !selector.Matches(labels.Set(o.Source.GetLabels())) {
			continue
		}
		s.Trees = append(s.Trees, branch(o, "", shown))
	}
	return s
}

// StatusOf returns the trees of some objects. The error names the first that is not there.
func (g *Graph) StatusOf(keys []Key) (*Status, error) {
	s := &Status{Trees: []Branch{}, Leaders: g.leaders, Unread: g.Unread}
	for _, key := range keys {
		o := g.byKey[key]
		switch message, unread := g.unread[key.Kind]; {
		case unread && (o == nil || o.Source == nil):
			return nil, fmt.Errorf("%s could not be read: %s", key, message)
		case o == nil || o.Source == nil:
			return nil, fmt.Errorf("there is no %s: name another, or its namespace with -n", key)
		}
		s.Trees = append(s.Trees, branch(o, "", map[*Object]bool{}))
	}
	return s, nil
}

// branch is the tree below an object. What was shown before has no branches again.
func branch(o *Object, role string, shown map[*Object]bool) Branch {
	b := Branch{Key: o.Key, Role: role, Health: o.Health, Said: o.Said}
	if o.Source == nil {
		return b
	}
	if c := stateOf(o.Source).find("Waiting"); c != nil && c.Status == "True" {
		b.Waiting = c.Message
	}
	if shown[o] {
		return b
	}
	shown[o] = true
	var below []Relation
	switch {
	case o.Kind == ExternalService:
		below = slices.Concat(o.Needs, o.NeededBy)
	case !IsWorkload(o.Kind):
		below = slices.DeleteFunc(slices.Clone(o.Needs), func(r Relation) bool { return r.Role != roleRestarts && r.Role != roleKills })
	case role == "":
		below = slices.Concat(o.Needs, o.NeededBy)
	}
	below = slices.Clone(below)
	slices.SortStableFunc(below, func(a, b Relation) int { return compare(a.Object.Key, b.Object.Key) })
	if len(below) > 0 {
		b.Branches = make([]Branch, 0, len(below))
	}
	for _, r := range below {
		b.Branches = append(b.Branches, branch(r.Object, r.Role, shown))
	}
	return b
}

// Counts returns how many objects have each health. An object counts once, however often it is shown.
func (s *Status) Counts() map[Health]int {
	counts, counted := map[Health]int{}, map[Key]bool{}
	var count func(all []Branch)
	count = func(all []Branch) {
		for i := range all {
			if b := &all[i]; !counted[b.Key] {
				counted[b.Key] = true
				counts[b.Health]++
			}
			count(all[i].Branches)
		}
	}
	count(s.Trees)
	return counts
}

// Worst returns the health of the object that is worst off.
func (s *Status) Worst() Health {
	counts := s.Counts()
	for _, h := range Healths {
		if counts[h] > 0 {
			return h
		}
	}
	return Healthy
}

// WriteText writes a line for each object, indented below the one that it belongs to. wide adds what waits, in the words of the
// operator.
func (s *Status) WriteText(to io.Writer, allNamespaces, wide bool) error {
	for _, l := range Lacking(s.Leaders) {
		if _, err := fmt.Fprintln(to, l.Sentence()); err != nil {
			return err
		}
	}
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	header := []string{"OBJECT", "HEALTH", "BECAUSE"}
	if allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if wide {
		header = append(header, "WAITS")
	}
	if len(s.Trees) > 0 {
		_, _ = fmt.Fprintln(table, strings.Join(header, "\t")) // Flush returns the error
	}
	for i := range s.Trees {
		s.Trees[i].write(table, "", "", allNamespaces, wide)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, u := range s.Unread {
		if _, err := fmt.Fprintf(to, "Not known: %s.\n", u); err != nil {
			return err
		}
	}
	return nil
}

// write writes the line of a branch and of those below it. lead goes before its own line, and rest before those below.
func (b *Branch) write(to io.Writer, lead, rest string, allNamespaces, wide bool) {
	name := lead + b.Kind + "/" + b.Name
	if b.Role != "" {
		name += " (" + b.Role + ")"
	}
	cells := []string{name, string(b.Health), cmp.Or(b.Said, "-")}
	if allNamespaces {
		cells = append([]string{b.Namespace}, cells...)
	}
	if wide {
		cells = append(cells, cmp.Or(b.Waiting, "-"))
	}
	_, _ = fmt.Fprintln(to, strings.Join(cells, "\t"))
	for i := range b.Branches {
		if i < len(b.Branches)-1 {
			b.Branches[i].write(to, rest+"├─", rest+"│ ", allNamespaces, wide)
		} else {
			b.Branches[i].write(to, rest+"└─", rest+"  ", allNamespaces, wide)
		}
	}
}
