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

	// Up maps a spoke form to the hub, and Down a hub form to its view at the spoke version. A field that is
	// absent in one is absent in the other: a default that a conversion wrote would remain after a client
	// removes the value. What every spoke object implies is no default, and Up writes it.
	Up   func(S) H
	Down func(H) S

	// UpInto is Up into a zero hub form, or into one that UpInto has filled before, whose memory it may use
	// again. Defaults to Up.
	UpInto func(from S, into *H)

	// CompleteHub and CompleteSpoke set the defaults in a form, to decide whether anything would be lost: an
	// absent field and its default mean the same. The result is only compared, and never part of a
	// converted object. By default they change nothing.
	CompleteHub   func(*H)
	CompleteSpoke func(*S)

	// HasImplied reports whether a hub form has everything that Up always writes, so that the way back adds
	// nothing. Defaults to true.
	HasImplied func(*H) bool

	// OverlayHub applies the edit of a view, from before to after, to the saved hub form, where before is
	// Down(saved). It keeps what the view cannot express. In the other direction Merge does: a hub can express
	// all that a valid spoke object means.
	OverlayHub func(saved H, before, after S) H

	// Bulk lists large parts that both forms have with the same bytes. They are not saved in the restore
	// annotation, and taken from the view.
	Bulk []Bulk

	// HubUnions and SpokeUnions list the parts of a form of which exactly one member is set. Default to none.
	HubUnions, SpokeUnions []Union
}

// Bulk names one part by its path in each form, such as {"spec", "target", "template"}.
type Bulk struct{ Hub, Spoke []string }

// Converter converts the objects of one kind. It is safe for concurrent use.
type Converter struct {
	kind        schema.GroupKind
	apiVersions map[string]string // by bare version
	toHub       func(source) result
	toSpoke     func(source) result
	toWritten   func(source) result // toSpoke for an object that a conversion has just written

	hubUnions, spokeUnions []Union
	readsSpoke             func(annotation string) bool

	fastToHub   func(e envelope, scratch []byte, saved *jsonindex.Document) (fastResult, bool)
	fastToSpoke func(e envelope, scratch []byte, saved *jsonindex.Document) (fastResult, bool)

	hub, spoke string
}

// New returns the converter of a pair.
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
	if p.HasImplied == nil {
		p.HasImplied = func(*H) bool { return true }
	}
	up := direction[S, H]{
		forward: p.Up, into: p.UpInto, back: p.Down, overlay: p.OverlayHub, complete: p.CompleteSpoke, hasImplied: func(*S) bool { return true }, believes: true,
		saved: hubData, save: spokeData, targetStatus: carriedStatus{name: p.Hub}, sourceStatus: carriedStatus{name: p.Spoke, digested: true},
		source: typedOf[S](), target: typedOf[H](), pool: new(sync.Pool),
	}
	down := direction[H, S]{
		forward: p.Down, into: func(h H, into *S) { *into = p.Down(h) }, back: p.Up,
		overlay:  func(saved S, before, after H) S { return Merge(saved, p.Down(before), p.Down(after)) },
		complete: p.CompleteHub, hasImplied: p.HasImplied, exact: true,
		saved: spokeData, save: hubData, targetStatus: carriedStatus{name: p.Spoke, digested: true}, sourceStatus: carriedStatus{name: p.Hub},
		source: typedOf[H](), target: typedOf[S](), pool: new(sync.Pool),
	}
	for _, b := range p.Bulk {
		up.bulk = append(up.bulk, bulkPath{from: b.Spoke, to: b.Hub})
		down.bulk = append(down.bulk, bulkPath{from: b.Hub, to: b.Spoke})
	}
	written := down
	written.believes = true
	return &Converter{
		kind:        schema.GroupKind{Group: p.Group, Kind: p.Kind},
		apiVersions: map[string]string{p.Hub: p.Group + "/" + p.Hub, p.Spoke: p.Group + "/" + p.Spoke},
		toHub:       up.convert,
		toSpoke:     down.convert,
		toWritten:   written.convert,
		hubUnions:   p.HubUnions,
		spokeUnions: p.SpokeUnions,
		readsSpoke:  readsSpoke[S],

		fastToHub:   up.fast,
		fastToSpoke: down.fast,

		hub:   p.Hub,
		spoke: p.Spoke,
	}
}

// Kind returns the kind of the objects.
func (c *Converter) Kind() schema.GroupKind { return c.kind }

// Versions returns the versions that it converts between, without the group.
func (c *Converter) Versions() []string { return []string{c.hub, c.spoke} }
