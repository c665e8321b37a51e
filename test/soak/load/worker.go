// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// What is known of a slot.
type state int

const (
	absent state = iota
	present
	// unknown is after an answer that did not say whether the object is there.
	unknown
)

// slot is a place for one object of a kind.
type slot struct {
	kind kind
	name string
	// version is the one it was made at, and is applied at: at another one, an applier who says
	// something else about the same object would have to take back what it said before.
	version string
	state   state
}

// worker sends one request at a time, about objects of its own.
type worker struct {
	*load
	number int
	random *rand.Rand
	slots  []*slot
	serial int // of the last object
	turn   int
}

func newWorker(l *load, number int) *worker {
	w := &worker{load: l, number: number, random: rand.New(rand.NewPCG(l.options.Seed, uint64(number)))} //nolint:gosec // it must be repeatable
	for _, k := range kinds {
		for range l.options.Objects {
			w.slots = append(w.slots, &slot{kind: k})
		}
	}
	return w
}

// run sends requests until ctx ends.
func (w *worker) run(ctx context.Context) {
	for w.limiter.Wait(ctx) == nil {
		w.step(ctx)
	}
}

// step sends the next request, or two where one needs the other.
func (w *worker) step(ctx context.Context) {
	w.turn++
	k := kinds[w.random.IntN(len(kinds))]
	s := w.slots[w.random.IntN(len(w.slots))]
	switch dice := w.random.IntN(100); {
	case dice < 8:
		w.send(ctx, w.dryRun(k))
	case dice < 15:
		w.send(ctx, w.refused(k))
	case dice < 20:
		w.send(ctx, w.list(k))
	case s.state == absent:
		w.create(ctx, s)
	case s.state == unknown || dice < 32:
		w.remove(ctx, s)
	case dice < 50:
		w.send(ctx, w.patch(s))
	case dice < 66:
		w.send(ctx, w.apply(s))
	case dice < 78:
		w.update(ctx, s)
	default:
		w.send(ctx, w.get(s, w.version()))
	}
}

// version is the old one more often than not: it is the one that is converted.
func (w *worker) version() string {
	if w.random.IntN(3) == 0 {
		return hubVersion
	}
	return spokeVersion
}

// name of an object that there never was.
func (w *worker) name(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s-%d-%d", prefix, w.number, w.serial)
}

// written is a version that objects of the kind are made at for good.
func (w *worker) written(k kind) string {
	if k.trials {
		return hubVersion
	}
	return w.version()
}

func (w *worker) create(ctx context.Context, s *slot) {
	s.name, s.version = w.name(s.kind.prefix), w.written(s.kind)
	c := &call{
		kind: "create " + s.version, method: http.MethodPost, path: w.path(s.kind, s.version, ""), media: "application/json",
		body:   s.kind.object(s.version, s.name, w.number, s.kind.spec(s.version, w.number, w.turn)),
		wanted: wanted{codes: []int{http.StatusCreated}},
	}
	if w.send(ctx, c); c.outcome == counters.OK {
		s.state = present
	} else {
		s.state = unknown
	}
}

func (w *worker) remove(ctx context.Context, s *slot) {
	version := w.version()
	c := &call{
		kind: "delete " + version, method: http.MethodDelete, path: w.path(s.kind, version, s.name),
		wanted: wanted{codes: []int{http.StatusOK}},
	}
	if s.state == unknown {
		c.wanted.codes = append(c.wanted.codes, http.StatusNotFound)
	}
	if w.send(ctx, c); c.outcome == counters.OK {
		s.state = absent
	} else {
		s.state = unknown
	}
}

// patch changes an annotation, and with it calls the webhooks.
func (w *worker) patch(s *slot) *call {
	version := w.version()
	return &call{
		kind: "patch " + version, method: http.MethodPatch, path: w.path(s.kind, version, s.name), media: "application/merge-patch+json",
		body:   object{"metadata": object{"annotations": object{turnAnnotation: fmt.Sprint(w.turn)}}},
		wanted: wanted{codes: []int{http.StatusOK, http.StatusConflict}},
	}
}

func (w *worker) apply(s *slot) *call {
	return &call{
		kind: "apply " + s.version, method: http.MethodPatch, path: w.path(s.kind, s.version, s.name), media: "application/apply-patch+yaml",
		query:  url.Values{"fieldManager": {"soak"}, "force": {"true"}},
		body:   s.kind.object(s.version, s.name, w.number, s.kind.spec(s.version, w.number, w.turn)),
		wanted: wanted{codes: []int{http.StatusOK}},
	}
}

// update reads and writes. The operator may write between, so that a conflict is a right answer.
func (w *worker) update(ctx context.Context, s *slot) {
	version := w.version()
	read := w.get(s, version)
	if w.send(ctx, read); read.outcome != counters.OK {
		return
	}
	var found object
	if json.Unmarshal(read.answer.body, &found) != nil {
		return // it was looked into already
	}
	w.send(ctx, &call{
		kind: "update " + version, method: http.MethodPut, path: w.path(s.kind, version, s.name), media: "application/json",
		body: annotate(found, w.turn), wanted: wanted{codes: []int{http.StatusOK, http.StatusConflict}},
	})
}

func (w *worker) get(s *slot, version string) *call {
	return &call{
		kind: "get " + version, method: http.MethodGet, path: w.path(s.kind, version, s.name),
		wanted: wanted{codes: []int{http.StatusOK}, holds: is(s.kind.at(version), s.kind.name, s.name)},
	}
}

// list asks for the worker's own objects of a kind at the old version.
func (w *worker) list(k kind) *call {
	var names []string
	for _, s := range w.slots {
		if s.kind.name == k.name && s.state == present {
			names = append(names, s.name)
		}
	}
	return &call{
		kind: "list " + spokeVersion, method: http.MethodGet, path: w.path(k, spokeVersion, ""),
		query:  url.Values{"labelSelector": {fmt.Sprintf("%s=%d", workerLabel, w.number)}},
		wanted: wanted{codes: []int{http.StatusOK}, holds: lists(k.at(spokeVersion), names)},
	}
}

func (w *worker) dryRun(k kind) *call { return w.dryRunAt(k, w.version()) }

func (w *worker) dryRunAt(k kind, version string) *call {
	name := w.name(k.prefix)
	return &call{
		kind: "dry run " + version, method: http.MethodPost, path: w.path(k, version, ""), media: "application/json",
		query:  url.Values{"dryRun": {"All"}},
		body:   k.object(version, name, w.number, k.spec(version, w.number, w.turn)),
		wanted: wanted{codes: []int{http.StatusCreated}, holds: is(k.at(version), k.name, name)},
	}
}

func (w *worker) refused(k kind) *call {
	r := k.refused[w.random.IntN(len(k.refused))]
	return &call{
		kind: "invalid " + r.version, method: http.MethodPost, path: w.path(k, r.version, ""), media: "application/json",
		body:   k.object(r.version, w.name("no"), w.number, r.spec),
		wanted: wanted{codes: []int{http.StatusUnprocessableEntity, http.StatusForbidden}, says: r.says},
	}
}
