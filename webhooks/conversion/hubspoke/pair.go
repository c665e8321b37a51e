// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Pair describes how a kind maps between its hub form H and its spoke form S: structs with the
// JSON fields "spec" and "status". All functions are pure and total. The overlays and the
// completions own their arguments; the others leave them alone, and may share memory with them in
// what they return.
type Pair[H, S any] struct {
	// Group, Kind and the two versions, such as "networking.fairlead.dev", "ExternalService",
	// "v1" and "v1alpha1".
	Group, Kind, Hub, Spoke string

	// Up maps a spoke form to the hub, and Down a hub form to its view at the spoke version. A field
	// that is absent in the one is absent in the other: a default that a conversion wrote would
	// outlive the value that a client takes back. What every spoke object implies is no default, and
	// Up writes it.
	Up   func(S) H
	Down func(H) S

	// UpInto is Up into a hub form that UpInto has filled before and that is no longer used, or into a
	// zero one: what it returns may use the memory of that again. Default: Up.
	UpInto func(from S, into *H)

	// CompleteHub and CompleteSpoke fill in what a form leaves to the defaults, to tell whether
	// anything would be lost: a field that is absent and its default mean the same. What they make is
	// compared, and never part of a converted object. Default: they change nothing.
	CompleteHub   func(*H)
	CompleteSpoke func(*S)

	// Whole says that a hub form has all that Up writes of itself, so that the way back adds nothing.
	// Default: it has.
	Whole func(*H) bool

	// OverlayHub carries the edit of a view, from before to after, onto the saved hub form, where
	// before is Down(saved). It keeps whatever the view cannot say. OverlaySpoke does the same the
	// other way, where before is Up(saved).
	OverlayHub   func(saved H, before, after S) H
	OverlaySpoke func(saved S, before, after H) S

	// Bulk lists heavy parts that stand in both forms with the same bytes. They are left out of
	// the restore annotation and taken from the view.
	Bulk []Bulk
}

// Bulk names one part by its path in each form, such as {"spec", "target", "template"}.
type Bulk struct{ Hub, Spoke []string }

// Converter converts the objects of one kind. It is safe for concurrent use.
type Converter struct {
	kind        schema.GroupKind
	apiVersions map[string]string // by bare version
	toHub       func(source) result
	toSpoke     func(source) result

	quickToHub   func(e envelope, scratch []byte, saved *jsonindex.Document) (quickResult, bool)
	quickToSpoke func(e envelope, scratch []byte, saved *jsonindex.Document) (quickResult, bool)

	hub, spoke string
}

// New makes the converter of a pair.
func New[H, S any](p Pair[H, S]) *Converter {
	if p.CompleteHub == nil {
		p.CompleteHub = func(*H) {}
	}
	if p.CompleteSpoke == nil {
		p.CompleteSpoke = func(*S) {}
	}
	if p.UpInto == nil {
		p.UpInto = func(s S, into *H) { *into = p.Up(s) }
	}
	if p.Whole == nil {
		p.Whole = func(*H) bool { return true }
	}
	up := direction[S, H]{
		forward: p.Up, into: p.UpInto, back: p.Down, overlay: p.OverlayHub, complete: p.CompleteSpoke, whole: func(*S) bool { return true },
		saved: hubData, save: spokeData, theirs: carriage{name: p.Hub}, ours: carriage{name: p.Spoke, sealed: true},
		source: formOf[S](), target: formOf[H](), forms: new(sync.Pool),
	}
	down := direction[H, S]{
		forward: p.Down, into: func(h H, into *S) { *into = p.Down(h) }, back: p.Up, overlay: p.OverlaySpoke, complete: p.CompleteHub, whole: p.Whole, exact: true,
		saved: spokeData, save: hubData, theirs: carriage{name: p.Spoke, sealed: true}, ours: carriage{name: p.Hub},
		source: formOf[H](), target: formOf[S](), forms: new(sync.Pool),
	}
	for _, b := range p.Bulk {
		up.bulk = append(up.bulk, bulkPath{from: b.Spoke, to: b.Hub})
		down.bulk = append(down.bulk, bulkPath{from: b.Hub, to: b.Spoke})
	}
	return &Converter{
		kind:        schema.GroupKind{Group: p.Group, Kind: p.Kind},
		apiVersions: map[string]string{p.Hub: p.Group + "/" + p.Hub, p.Spoke: p.Group + "/" + p.Spoke},
		toHub:       up.convert,
		toSpoke:     down.convert,

		quickToHub:   up.quick,
		quickToSpoke: down.quick,

		hub:   p.Hub,
		spoke: p.Spoke,
	}
}

// Kind is that of the objects.
func (c *Converter) Kind() schema.GroupKind { return c.kind }

// Versions are the bare ones that it converts between.
func (c *Converter) Versions() []string { return []string{c.hub, c.spoke} }
