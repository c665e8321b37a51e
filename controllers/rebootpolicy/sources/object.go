// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// object is one observed source.
type object struct {
	kind  autorebootv1.SourceKind
	views map[viewKey]*view

	// reading is closed when the current read has ended; nil without one.
	reading chan struct{}
	// stale means that the source may have changed since it was read.
	stale bool
	// eventVersion is the version of an event that came during a read.
	eventVersion string
	// notInWatch means that a read found the source, and the watch does not show it yet: if it is deleted while the
	// watch is disconnected, there is no event. Until the watch shows it, it is polled.
	notInWatch bool
	// lastEvent is the latest event since the read began.
	lastEvent event

	readAt  time.Time // zero: never
	version string    // that was read; empty where there was nothing
	unknown string    // why the latest read failed
	err     error
}

// viewKey identifies a view of a source.
type viewKey string

// event is the kind of an event about a source.
type event int

const (
	noEvent event = iota
	existsEvent
	deletedEvent
)

// view is a selection of a source's content that one or more owners want.
type view struct {
	want   Want
	owners map[types.NamespacedName]struct{}
	// known means that state is from the last successful read.
	known bool
	state State
	// valuesSet is when the source says that this was written last.
	valuesSet time.Time
}

func viewOf(w *Want) viewKey {
	if w.Certificate != "" {
		return viewKey("certificate " + w.Certificate)
	}
	var b strings.Builder
	keys := w.Keys
	switch {
	case len(keys) > 0:
		b.WriteString("keys")
	case len(w.ExcludedKeys) > 0:
		b.WriteString("all without")
		keys = w.ExcludedKeys
	default:
		return "all"
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		b.WriteString(" " + strconv.Itoa(len(key)) + ":" + key)
	}
	return viewKey(b.String())
}

// wants returns the Wants of all owners of the source.
func (o *object) wants(ref Ref) map[viewKey]Want {
	wants := make(map[viewKey]Want, len(o.views))
	for key, v := range o.views {
		wants[key] = Want{Ref: ref, Keys: v.want.Keys, ExcludedKeys: v.want.ExcludedKeys, Certificate: v.want.Certificate}
	}
	return wants
}

// isComplete reports whether every view has been read.
func (o *object) isComplete() bool {
	for _, v := range o.views {
		if !v.known {
			return false
		}
	}
	return true
}

func (o *object) state(key viewKey) State {
	if o.unknown != "" {
		return State{Unknown: o.unknown, Err: o.err}
	}
	if v := o.views[key]; v != nil && v.known {
		return v.state
	}
	return State{Unknown: autorebootv1.ReasonUnreadable}
}

// recordRead records what a read has found, or why it failed, and whether the watch shows it as well.
func (o *object) recordRead(found *content, err error, shown bool, results map[viewKey]viewResult, now time.Time) {
	o.readAt = now
	switch {
	case err == nil:
		o.version = found.version
		o.notInWatch = o.lastEvent == deletedEvent || o.lastEvent == noEvent && !shown
		if o.stale && isAtOrAfter(o.version, o.eventVersion) {
			o.stale = false
		}
	case apierrors.IsNotFound(err):
		o.version, o.notInWatch = "", false
	case apierrors.IsForbidden(err):
		o.unknown, o.err = autorebootv1.ReasonForbidden, err
		return
	case isNotServed(err):
		o.unknown, o.err = autorebootv1.ReasonNotServed, err
		return
	default:
		o.unknown, o.err, o.stale = autorebootv1.ReasonUnreadable, err, true
		return
	}
	o.unknown, o.err = "", nil
	for key, seen := range results {
		if v := o.views[key]; v != nil {
			v.update(seen, now)
		}
	}
}

// recordEvent records an event: the source is now at a version, or was when it was deleted. An empty version is
// unknown.
func (o *object) recordEvent(version string, deleted bool) {
	o.lastEvent = existsEvent
	if deleted {
		o.lastEvent = deletedEvent
	}
	o.notInWatch = deleted && o.version != ""
	switch {
	case o.reading != nil && !o.stale:
		o.eventVersion = version
	case o.reading != nil && o.eventVersion != "" && (version == "" || isAtOrAfter(version, o.eventVersion)):
		o.eventVersion = version
	case o.reading != nil:
	case deleted && o.version == "" && !o.readAt.IsZero() && o.unknown == "":
		return // a read was earlier to see it gone, and what appears has an event of its own
	case isAtOrAfter(o.version, version):
		return // a read was earlier to see it
	}
	o.stale = true
}

// isAtOrAfter reports whether one version is the same as another, or later.
func isAtOrAfter(read, version string) bool {
	order, err := resourceversion.CompareResourceVersion(read, version)
	return err == nil && order >= 0
}
