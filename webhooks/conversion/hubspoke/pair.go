// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"sync"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// Pair describes how a kind maps between its hub form H and its spoke form S: structs with the
// JSON fields "spec" and "status". All functions are pure and total. The overlays own their
// arguments; the others leave them alone, and may share memory with them in what they answer.
type Pair[H, S any] struct {
	// Group, Kind and the two versions, such as "networking.fairlead.dev", "ExternalService",
	// "v1" and "v1alpha1".
	Group, Kind, Hub, Spoke string

	// Up maps a spoke form to the hub and fills in the hub's defaults. Down maps a hub form to
	// its view at the spoke version.
	Up   func(S) H
	Down func(H) S

	// UpInto is Up into a hub form that UpInto has filled before and that nobody uses any more, or into a
	// zero one: what it answers may use the memory of that again. Default: Up.
	UpInto func(from S, into *H)

	// Normalize makes the implied defaults of a spoke form explicit, which are those of implied, that
	// is Down(Up(s)): where nothing is lost, that equals Normalize. Nil stands for s as it is.
	Normalize func(s, implied S) S

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
	apiVersions map[string]string // by bare version
	toHub       func(source) result
	toSpoke     func(source) result

	quickToHub   func(e envelope, scratch []byte, saved *wire.Document) (quickResult, bool)
	quickToSpoke func(e envelope, scratch []byte, saved *wire.Document) (quickResult, bool)

	hub, spoke string
}

// New makes the converter of a pair.
func New[H, S any](p Pair[H, S]) *Converter {
	if p.Normalize == nil {
		p.Normalize = func(s, _ S) S { return s }
	}
	if p.UpInto == nil {
		p.UpInto = func(s S, into *H) { *into = p.Up(s) }
	}
	up := direction[S, H]{
		forward: p.Up, into: p.UpInto, back: p.Down, normalize: p.Normalize, overlay: p.OverlayHub,
		saved: hubData, save: spokeData, source: formOf[S](), target: formOf[H](), forms: new(sync.Pool),
	}
	down := direction[H, S]{
		forward: p.Down, into: func(h H, into *S) { *into = p.Down(h) }, back: p.Up, normalize: func(h, _ H) H { return h }, overlay: p.OverlaySpoke,
		saved: spokeData, save: hubData, source: formOf[H](), target: formOf[S](), forms: new(sync.Pool),
	}
	for _, b := range p.Bulk {
		up.bulk = append(up.bulk, bulkPath{from: b.Spoke, to: b.Hub})
		down.bulk = append(down.bulk, bulkPath{from: b.Hub, to: b.Spoke})
	}
	return &Converter{
		apiVersions: map[string]string{p.Hub: p.Group + "/" + p.Hub, p.Spoke: p.Group + "/" + p.Spoke},
		toHub:       up.convert,
		toSpoke:     down.convert,

		quickToHub:   up.quick,
		quickToSpoke: down.quick,

		hub:   p.Hub,
		spoke: p.Spoke,
	}
}
