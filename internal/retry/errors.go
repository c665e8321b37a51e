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

// Bounded marks an error that retrying seldom resolves, such as a missing permission: it is retried
// for Policy.BoundedTimeout only, since the installation of the operator may still be in progress.
func Bounded(err error) error { return marked{err, bounded} }

// Final marks an error that retrying cannot resolve; it is returned at once.
func Final(err error) error { return marked{err, final} }

// kindOf returns the most severe mark in the tree of errors, joined ones included.
func kindOf(err error) kind {
	severest := transient
	if one, ok := err.(marked); ok { //nolint:errorlint // errors.As stops at the first mark of the tree
		severest = one.kind
	}
	switch inner := err.(type) { //nolint:errorlint // kindOf walks the tree itself
	case interface{ Unwrap() []error }:
		for _, each := range inner.Unwrap() {
			severest = max(severest, kindOf(each))
		}
	case interface{ Unwrap() error }:
		if next := inner.Unwrap(); next != nil {
			severest = max(severest, kindOf(next))
		}
	}
	return severest
}

// Distinct distinguishes new errors from those that were logged, by their text. The zero value is usable. It is
// not safe for concurrent use.
type Distinct struct{ seen map[string]struct{} }

// maxDistinct bounds the memory. Beyond it Distinct starts empty, and a line may repeat.
const maxDistinct = 64

// Add adds the error and reports whether it is new.
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

// Reset removes all errors, as after a success: the same error is then new again.
func (d *Distinct) Reset() { d.seen = nil }
