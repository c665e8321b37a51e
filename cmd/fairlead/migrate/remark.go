// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
)

// Effect is the result of migrating a field or an object.
type Effect string

// The effects.
const (
	// Refused was not migrated, and has to be looked at.
	Refused Effect = "cannot be migrated"
	// Lost was not carried over.
	Lost Effect = "not carried over"
	// Differs is carried over, and behaves differently.
	Differs Effect = "differs"
	// Left was not migrated on purpose.
	Left Effect = "left as it is"
)

// Place is a position in the input.
type Place struct {
	// File is a name of a file, or of a cluster.
	File string
	// Document counts from 1, and is 0 in a cluster.
	Document     int
	Line, Column int
}

func (p Place) String() string {
	switch {
	case p.Document == 0:
		return p.File
	case p.Line == 0:
		return fmt.Sprintf("%s: document %d", p.File, p.Document)
	}
	return fmt.Sprintf("%s:%d:%d: document %d", p.File, p.Line, p.Column, p.Document)
}

// Remark is a note in the plan about one field or object.
type Remark struct {
	Effect Effect
	Place  Place
	// Object is such as "Service shop/db", and Field a path in it; "" for the whole.
	Object, Field string
	// Text has the reason, and what to do.
	Text string
}

// about is the remark without its place and object, as comments have it.
func (r *Remark) about() string {
	if r.Field == "" {
		return r.Text
	}
	return r.Field + ": " + r.Text
}

func compareRemarks(a, b Remark) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Text, b.Text),
		cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Document, b.Place.Document), cmp.Compare(a.Place.Line, b.Place.Line))
}
