// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

type kind int

const (
	transient kind = iota
	bounded
	final
)

type marked struct {
	error
	kind kind
}

func (m marked) Unwrap() error { return m.error }

// Bounded marks an error that waiting seldom heals, such as a missing permission: it is retried
// for the policy's time only, since the installation of the operator may still be under way.
func Bounded(err error) error { return marked{err, bounded} }

// Final marks an error that waiting cannot heal; it is not retried.
func Final(err error) error { return marked{err, final} }

// kindOf finds the gravest mark in the tree of errors, joined ones included.
func kindOf(err error) kind {
	grave := transient
	if one, ok := err.(marked); ok { //nolint:errorlint // errors.As stops at the first mark of the tree
		grave = one.kind
	}
	switch inner := err.(type) { //nolint:errorlint // this is what walks the tree
	case interface{ Unwrap() []error }:
		for _, each := range inner.Unwrap() {
			grave = max(grave, kindOf(each))
		}
	case interface{ Unwrap() error }:
		if next := inner.Unwrap(); next != nil {
			grave = max(grave, kindOf(next))
		}
	}
	return grave
}

// Distinct remembers which errors were seen, by their text, up to a bound. The zero value is
// ready to use; it is not safe for concurrent use.
type Distinct struct{ seen map[string]struct{} }

// maxDistinct bounds the memory; beyond it the memory starts afresh and a line may repeat.
const maxDistinct = 64

// Add says whether the error is new.
func (d *Distinct) Add(err error) bool {
	text := err.Error()
	if _, known := d.seen[text]; known {
		return false
	}
	if d.seen == nil || len(d.seen) >= maxDistinct {
		d.seen = make(map[string]struct{})
	}
	d.seen[text] = struct{}{}
	return true
}

// Reset forgets all errors, as after a success: the same failure is then news again.
func (d *Distinct) Reset() { d.seen = nil }
