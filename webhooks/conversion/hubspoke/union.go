// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"slices"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Union is a part of a spec of which exactly one member is set, be it to an empty object.
//
// Server-side apply takes away what no manager owns, such as defaults, and then converts what is left: an object whose
// members are all taken away is null there. A union of which one member is null and no other is set has that member,
// empty: else it would have none at the other version, and the API server would take it for removed.
type Union struct {
	// Path of the part within the object, such as {"spec", "healthCheck"}.
	Path []string
	// Members of the union, such as "tcpSocket", "httpGet" and "grpc".
	Members []string
}

// isEmptied reports whether a member of the union is null in an object, and no other is set.
func (u Union) isEmptied(spec jsonindex.Value) bool {
	part := spec
	for _, name := range u.Path[1:] {
		part = part.Field(name)
	}
	emptied := false
	for name, value := range part.Fields() {
		if !slices.Contains(u.Members, string(name)) {
			continue
		}
		if value.Kind() != 'n' {
			return false
		}
		emptied = true
	}
	return emptied
}

// fill sets the member that is null in a body to an empty object, if no other is set.
func (u Union) fill(body tree) tree {
	value, _ := body.at(u.Path)
	part, ok := value.(map[string]any)
	if !ok {
		return body
	}
	emptied := ""
	for _, name := range u.Members {
		switch value, has := part[name]; {
		case has && value != nil:
			return body
		case has:
			emptied = name
		}
	}
	if emptied == "" {
		return body
	}
	return body.with(append(slices.Clone(u.Path), emptied), map[string]any{})
}

// unionsBefore returns the unions of the form that a conversion begins with.
func (c *Converter) unionsBefore(toVersion string) []Union {
	if toVersion == c.spoke {
		return c.hubUnions
	}
	return c.spokeUnions
}
