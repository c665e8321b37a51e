// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// envelope is an object taken apart into bytes.
type envelope struct {
	apiVersion, kind string
	metadata         []byte
	annotations      annotations
	body             sections
}

// annotations as they stand there.
type annotations struct {
	object     []byte
	hub, spoke []byte // ours, in quotes
	size       int    // bytes of the others, at most
	end        int    // where the object ends within metadata
}

func (a annotations) ours() bool { return a.hub != nil || a.spoke != nil }

func (a annotations) get(k restoreKey) []byte {
	if k.annotation == common.ConversionDataAnnotation {
		return a.hub
	}
	return a.spoke
}

// openEnvelope answers false for what is not an ordinary object: one without kind or metadata, with
// members that no Kubernetes object has, or with names that stand twice.
func openEnvelope(raw []byte) (e envelope, ok bool) {
	for name, value := range wire.Fields(raw) {
		switch string(name) {
		case "apiVersion":
			ok = e.apiVersion == ""
			e.apiVersion, _ = wire.Text(value)
		case "kind":
			ok = e.kind == ""
			e.kind, _ = wire.Text(value)
		case "metadata":
			ok = e.metadata == nil && e.openMetadata(value)
		case "spec":
			ok = e.body.spec == nil && value[0] == '{'
			e.body.spec = value
		case "status":
			ok = e.body.status == nil && value[0] == '{' && filled(value)
			e.body.status = value
		default:
			ok = false
		}
		if !ok {
			return envelope{}, false
		}
	}
	return e, e.apiVersion != "" && e.kind != ""
}

// filled says that an object has a member that is not null.
func filled(object []byte) bool {
	for _, value := range wire.Fields(object) {
		if value[0] != 'n' {
			return true
		}
	}
	return false
}

func (e *envelope) openMetadata(metadata []byte) bool {
	e.metadata = metadata
	if metadata[0] != '{' {
		return false
	}
	c := wire.NewCursor(metadata)
	for more := c.Open('{'); more; more = c.More() {
		if string(c.Name()) != "annotations" {
			c.Value()
			continue
		}
		if e.annotations.object != nil || c.Peek() != '{' || !e.annotations.open(c.Value()) {
			return false
		}
		e.annotations.end = c.At() - len("}")
	}
	return true
}

func (a *annotations) open(object []byte) bool {
	a.object = object
	for name, value := range wire.Fields(object) {
		if value[0] != '"' {
			return false
		}
		switch string(name) {
		case common.ConversionDataAnnotation:
			a.hub = value
		case common.V1Alpha1DataAnnotation:
			a.spoke = value
		default:
			a.size += len(name) + len(value)
		}
	}
	return true
}

// seal appends the object at its new version. Metadata stays as it came, but for the restore
// annotations.
func (e envelope) seal(out []byte, apiVersion string, r quickResult) []byte {
	out = wire.Quote(append(out, `{"apiVersion":`...), apiVersion)
	out = wire.Quote(append(out, `,"kind":`...), e.kind)
	out = append(out, `,"metadata":`...)
	switch {
	case r.value != nil && e.annotations.size > 0 && !e.annotations.ours():
		out = append(append(out, e.metadata[:e.annotations.end]...), ',')
		out = append(wire.Quote(out, r.annotation), ':')
		out = append(wire.Quote(out, r.value), e.metadata[e.annotations.end:]...)
	case r.value != nil || e.annotations.ours():
		out = e.sealMetadata(out, r)
	case e.metadata == nil:
		out = append(out, "{}"...)
	default:
		out = append(out, e.metadata...)
	}
	if r.body.spec != nil {
		out = append(append(out, `,"spec":`...), r.body.spec...)
	}
	if r.body.status != nil {
		out = append(append(out, `,"status":`...), r.body.status...)
	}
	return append(out, '}')
}

// sealMetadata writes metadata anew.
func (e envelope) sealMetadata(out []byte, r quickResult) []byte {
	var metadata, annotations wire.Object
	for name, value := range wire.Fields(e.metadata) {
		if string(name) != "annotations" {
			out = append(metadata.Name(out, name), value...)
		}
	}
	if r.value == nil && e.annotations.size == 0 {
		return metadata.End(out)
	}
	out = metadata.Name(out, []byte("annotations"))
	for name, value := range wire.Fields(e.annotations.object) {
		if string(name) != common.ConversionDataAnnotation && string(name) != common.V1Alpha1DataAnnotation {
			out = append(annotations.Name(out, name), value...)
		}
	}
	if r.value != nil {
		out = wire.Quote(annotations.Name(out, []byte(r.annotation)), r.value)
	}
	return metadata.End(annotations.End(out))
}
