// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"strings"
)

// Diagram is what a Status shows as nodes and arrows, which begin at the object that refers to the other.
type Diagram struct {
	nodes  []*Object
	edges  []edge
	unread []Unread
}

// edge is an arrow between two nodes.
type edge struct {
	from, to int
	role     string
}

// Diagram returns the objects of a Status as a diagram.
func (g *Graph) Diagram(s *Status) *Diagram {
	shown := map[Key]bool{}
	var show func(b *Branch)
	show = func(b *Branch) {
		shown[b.Key] = true
		for i := range b.Branches {
			show(&b.Branches[i])
		}
	}
	for i := range s.Trees {
		show(&s.Trees[i])
	}
	d, index := &Diagram{unread: s.Unread}, map[*Object]int{}
	for _, o := range g.Objects {
		if shown[o.Key] {
			index[o] = len(d.nodes)
			d.nodes = append(d.nodes, o)
		}
	}
	for i, o := range d.nodes {
		for _, r := range o.Needs {
			if to, has := index[r.Object]; has {
				d.edges = append(d.edges, edge{i, to, r.Role})
			}
		}
	}
	return d
}

// colors of nodes by their health, dark enough for white text.
var colors = []struct {
	health Health
	fill   string
}{
	{Failed, "#b3261e"}, {Unknown, "#5f6368"}, {Degraded, "#a15c00"}, {Waiting, "#0b57d0"},
	{Progressing, "#0b57d0"}, {Suspended, "#5f6368"}, {Healthy, "#146c2e"},
}

// lines of the text in a node.
func (o *Object) lines(allNamespaces bool) []string {
	name := o.Kind + "/" + o.Name
	if allNamespaces {
		name = o.Namespace + "/" + name
	}
	health := string(o.Health)
	if o.Said != "" {
		health += ": " + o.Said
	}
	return []string{name, health}
}

// WriteMermaid writes a flowchart of Mermaid, which GitHub, GitLab and others draw.
func (d *Diagram) WriteMermaid(to io.Writer, allNamespaces bool) error {
	escape := strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace
	var text strings.Builder
	text.WriteString("flowchart LR\n")
	for i, o := range d.nodes {
		lines := o.lines(allNamespaces)
		fmt.Fprintf(&text, "  n%d[\"%s<br/>%s\"]:::%s\n", i, escape(lines[0]), escape(lines[1]), o.Health)
	}
	for i, u := range d.unread {
		fmt.Fprintf(&text, "  u%d[\"Not known: %s\"]:::%s\n", i, escape(u.String()), Unknown)
	}
	for _, e := range d.edges {
		fmt.Fprintf(&text, "  n%d -->|\"%s\"| n%d\n", e.from, escape(e.role), e.to)
	}
	for _, c := range colors {
		fmt.Fprintf(&text, "  classDef %s fill:%s,color:#ffffff\n", c.health, c.fill)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// WriteDot writes a graph for Graphviz.
func (d *Diagram) WriteDot(to io.Writer, allNamespaces bool) error {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	fill := map[Health]string{}
	for _, c := range colors {
		fill[c.health] = c.fill
	}
	var text strings.Builder
	text.WriteString("digraph fairlead {\n  rankdir=LR\n  node [shape=box, style=filled, fontcolor=\"#ffffff\"]\n")
	for i, o := range d.nodes {
		lines := o.lines(allNamespaces)
		fmt.Fprintf(&text, "  n%d [label=\"%s\\n%s\", fillcolor=\"%s\"]\n", i, escape(lines[0]), escape(lines[1]), fill[o.Health])
	}
	for i, u := range d.unread {
		fmt.Fprintf(&text, "  u%d [label=\"Not known: %s\", fillcolor=\"%s\"]\n", i, escape(u.String()), fill[Unknown])
	}
	for _, e := range d.edges {
		fmt.Fprintf(&text, "  n%d -> n%d [label=\"%s\"]\n", e.from, e.to, escape(e.role))
	}
	text.WriteString("}\n")
	_, err := io.WriteString(to, text.String())
	return err
}
