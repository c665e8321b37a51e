// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

const (
	// maxNodes bounds the nodes of a drawing.
	maxNodes = 60
	// maxDistance is how many arrows away from the object that is chosen a node may be.
	maxDistance = 2

	// The sizes of a drawing, in pixels.
	nodeWidth, nodeHeight = 200, 46
	columnGap, rowGap     = 48, 14
	laneHeight            = 4
	margin                = 6
)

// graph is a drawing of objects in columns, by their kinds, and of what refers to what.
type graph struct {
	Width, Height int
	Nodes         []*node
	Arrows        []arrow
	// More is how many objects are not drawn.
	More int
}

// node is an object at its place, with an address that chooses it. One without an object is a lane: the place where an arrow
// passes through a column.
type node struct {
	*inspect.Object
	X, Y, Width, Height int
	Href                string
	IsSelected          bool
	column              int
	beside              []*node // what it is connected with in other columns
	weight              float64 // by which the nodes of a column are ordered
}

// arrow begins at the node that refers to the other.
type arrow struct{ Path, Text string }

// chain is an arrow that is not drawn yet, with the lanes between its ends.
type chain struct {
	nodes []*node
	text  string
}

// column of a kind: what acts on workloads is to their left, and what they depend on to their right.
func column(kind string) int {
	switch {
	case kind == inspect.ClusterRebootPolicy:
		return 0
	case inspect.IsWorkload(kind):
		return 2
	case kind == inspect.ExternalService:
		return 3
	}
	return 1
}

// draw returns the drawing of what is near the object that is chosen, or of all that match and what they refer to.
func draw(q query, v *view, chosen *inspect.Object) *graph {
	d := &graph{}
	placed := map[*inspect.Object]*node{} // nil for what is not drawn
	add := func(o *inspect.Object) {
		switch _, isKnown := placed[o]; {
		case isKnown:
		case len(d.Nodes) == maxNodes:
			placed[o] = nil
			d.More++
		default:
			n := &node{
				Object: o, Width: nodeWidth, Height: nodeHeight, column: column(o.Kind),
				Href: q.with("object", path(o.Key)), IsSelected: o == chosen,
			}
			placed[o], d.Nodes = n, append(d.Nodes, n)
		}
	}
	if chosen != nil {
		add(chosen)
		for reached, distance := 0, 0; distance < maxDistance; distance++ {
			for _, n := range d.Nodes[reached:len(d.Nodes):len(d.Nodes)] {
				reached++
				for _, r := range slices.Concat(n.Needs, n.NeededBy) {
					add(r.Object)
				}
			}
		}
	} else {
		for _, l := range q.lines(nil, v.status.Trees, 0) {
			add(v.graph.Find(l.Key))
		}
	}
	columns := make([][]*node, 4)
	for _, n := range d.Nodes {
		columns[n.column] = append(columns[n.column], n)
	}
	columns = slices.DeleteFunc(columns, func(nodes []*node) bool { return len(nodes) == 0 })
	for i, nodes := range columns {
		for _, n := range nodes {
			n.column = i
		}
	}
	chains := d.chains(columns, placed)
	d.place(columns)
	for _, c := range chains {
		d.Arrows = append(d.Arrows, d.arrow(c))
	}
	return d
}

// chains returns the arrows between nodes, and adds a lane to each column that one of them passes.
func (d *graph) chains(columns [][]*node, placed map[*inspect.Object]*node) (all []chain) {
	for _, from := range d.Nodes {
		for _, r := range from.Needs {
			to := placed[r.Object]
			if to == nil {
				continue
			}
			c := chain{[]*node{from}, from.String() + ": " + r.Role + ": " + to.String()}
			step := cmp.Compare(to.column, from.column)
			for at := from.column + step; at != to.column && step != 0; at += step {
				lane := &node{Width: nodeWidth, Height: laneHeight, column: at}
				columns[at] = append(columns[at], lane)
				c.nodes = append(c.nodes, lane)
			}
			c.nodes = append(c.nodes, to)
			for i, n := range c.nodes[1:] {
				if before := c.nodes[i]; before.column != n.column {
					before.beside, n.beside = append(before.beside, n), append(n.beside, before)
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// place puts the nodes of each column below each other, near those that they are connected with.
func (d *graph) place(columns [][]*node) {
	height := func(nodes []*node) (sum int) {
		for _, n := range nodes {
			sum += n.Height + rowGap
		}
		return sum - rowGap
	}
	tallest := 0
	for _, nodes := range columns {
		tallest = max(tallest, height(nodes))
	}
	stack := func(nodes []*node) {
		y := margin + (tallest-height(nodes))/2
		for _, n := range nodes {
			n.X, n.Y = margin+n.column*(nodeWidth+columnGap), y
			y += n.Height + rowGap
		}
	}
	for _, nodes := range columns {
		stack(nodes)
	}
	// Twice there and back, each column is ordered by where the neighbors of its nodes are.
	for sweep := range 4 * len(columns) {
		nodes := columns[sweep%len(columns)]
		if sweep/len(columns)%2 == 1 {
			nodes = columns[len(columns)-1-sweep%len(columns)]
		}
		for _, n := range nodes {
			n.weight = float64(n.middle())
			if len(n.beside) > 0 {
				sum := 0
				for _, other := range n.beside {
					sum += other.middle()
				}
				n.weight = float64(sum) / float64(len(n.beside))
			}
		}
		slices.SortStableFunc(nodes, func(a, b *node) int { return cmp.Compare(a.weight, b.weight) })
		stack(nodes)
	}
	d.Width = 2*margin + max(len(columns)*(nodeWidth+columnGap)-columnGap, 0)
	d.Height = 2*margin + tallest
}

func (n *node) middle() int { return n.Y + n.Height/2 }

// arrow draws a chain as curves, which are straight where they pass a lane.
func (d *graph) arrow(c chain) arrow {
	const bend, tip = columnGap * 3 / 4, 7
	path := ""
	for i, to := range c.nodes[1:] {
		from := c.nodes[i]
		start, end, leaves, enters := from.X+from.Width, to.X, bend, -bend
		switch {
		case from.column == to.column:
			end, enters = to.X+to.Width, bend
			d.Width = max(d.Width, end+columnGap)
		case from.column > to.column:
			start, end, leaves, enters = from.X, to.X+to.Width, -bend, bend
		}
		if to.Object != nil {
			end += enters * tip / bend
		}
		path += fmt.Sprintf("%s%d %dC%d %d %d %d %d %d", map[bool]string{true: "M", false: "L"}[i == 0],
			start, from.middle(), start+leaves, from.middle(), end+enters, to.middle(), end, to.middle())
	}
	return arrow{path, c.text}
}
