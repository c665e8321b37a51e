// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The versions at which every kind is served. Hub is the one that is stored.
const (
	Hub      = "v1"
	V1alpha1 = "v1alpha1"
)

// Table lists the fields of a kind whose name or place differs at v1alpha1. All other fields are the same at both versions.
type Table []Move

// Move is a field with its paths at both versions.
type Move struct{ V1alpha1, Hub string }

var tables = map[schema.GroupKind]Table{
	{Group: "networking.fairlead.dev", Kind: "ExternalService"}: {
		{"spec.probe", "spec.healthCheck"},
	},
	{Group: "autoreboot.fairlead.dev", Kind: "RebootPolicy"}: {
		{"spec.policies", "spec.triggers"},
	},
	{Group: "autoreboot.fairlead.dev", Kind: "ClusterRebootPolicy"}: {},
	{Group: "chaos.fairlead.dev", Kind: "ChaosPod"}: {
		{"spec.template", "spec.target.template"},
		{"spec.nextStop", "spec.schedule.at"},
	},
}

// Of returns the table of a kind; false where the kind is not one of Fairlead's.
func Of(kind schema.GroupKind) (Table, bool) {
	table, known := tables[kind]
	return table, known
}

// Kinds returns Fairlead's kinds, in no order.
func Kinds() []schema.GroupKind {
	kinds := make([]schema.GroupKind, 0, len(tables))
	for kind := range tables {
		kinds = append(kinds, kind)
	}
	return kinds
}

// Path returns the path that a field of v1 has at a version. Paths are those of field errors: spec.endpoints[0].dns.name.
func (t Table) Path(version, path string) string {
	if version != V1alpha1 {
		return path
	}
	for _, move := range t {
		if inside, within := strings.CutPrefix(path, move.Hub); within && (inside == "" || inside[0] == '.' || inside[0] == '[') {
			return move.V1alpha1 + inside
		}
	}
	return path
}

// Words returns a text that begins with the path of a field of v1, a colon and a space, with the path that the field has
// at a version. A text that begins otherwise is returned as it is.
func (t Table) Words(version, text string) string {
	path, rest, found := strings.Cut(text, ": ")
	if !found {
		return text
	}
	return t.Path(version, path) + ": " + rest
}
