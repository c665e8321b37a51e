// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// envelope is an object taken apart.
type envelope struct {
	apiVersion, kind, metadata jsonindex.Value

	annotations annotations
	body        sections
}

// annotations as they stand there.
type annotations struct {
	object     jsonindex.Value
	hub, spoke jsonindex.Value // ours
	size       int             // bytes of the others, at most
}

func (a annotations) ours() bool { return a.hub.Exists() || a.spoke.Exists() }

func (a annotations) get(k restoreKey) jsonindex.Value {
	if k.annotation == common.ConversionDataAnnotation {
		return a.hub
	}
	return a.spoke
}

// openEnvelope returns false for what is not an ordinary object: one without kind or metadata, with
// members that no Kubernetes object has, or with names that stand twice.
func openEnvelope(object jsonindex.Value) (e envelope, ok bool) {
	for name, value := range object.Fields() {
		switch string(name) {
		case "apiVersion":
			ok = !e.apiVersion.Exists()
			e.apiVersion = value
		case "kind":
			ok = !e.kind.Exists()
			e.kind = value
		case "metadata":
			ok = !e.metadata.Exists() && e.openMetadata(value)
		case "spec":
			ok = !e.body.spec.exists() && value.Kind() == '{'
			e.body.spec = given(value)
		case "status":
			ok = !e.body.status.exists() && filled(value)
			e.body.status = given(value)
		default:
			ok = false
		}
		if !ok {
			return envelope{}, false
		}
	}
	return e, e.apiVersion.Kind() == '"' && e.kind.Kind() == '"'
}

// filled says that this is an object with a member that is not null.
func filled(object jsonindex.Value) bool {
	for _, value := range object.Fields() {
		if value.Kind() != 'n' {
			return true
		}
	}
	return false
}

func (e *envelope) openMetadata(metadata jsonindex.Value) bool {
	e.metadata = metadata
	for name, value := range metadata.Fields() {
		if string(name) == "annotations" && (e.annotations.object.Exists() || !e.annotations.open(value)) {
			return false
		}
	}
	return metadata.Kind() == '{'
}

func (a *annotations) open(object jsonindex.Value) bool {
	a.object = object
	for name, value := range object.Fields() {
		if value.Kind() != '"' {
			return false
		}
		switch string(name) {
		case common.ConversionDataAnnotation:
			a.hub = value
		case common.V1Alpha1DataAnnotation:
			a.spoke = value
		default:
			if !qualified(name) {
				return false
			}
			a.size += len(name) + len(value.Bytes())
		}
	}
	return object.Kind() == '{' && a.size <= apivalidation.TotalAnnotationSizeLimitB
}

// qualified says that this is surely a name that the API server takes for an annotation. Of another one
// it may still be; the long way asks it.
func qualified(name []byte) bool {
	prefix, rest, both := bytes.Cut(name, []byte{'/'})
	if !both {
		return segment(prefix, 63)
	}
	for label := range bytes.SplitSeq(prefix, []byte{'.'}) {
		if !segment(label, 63) || bytes.IndexByte(label, '_') >= 0 {
			return false
		}
	}
	return len(prefix) <= 253 && segment(rest, 63)
}

// segment is letters and digits, with other signs between them.
func segment(part []byte, most int) bool {
	if len(part) == 0 || len(part) > most || !alphanumeric(part[0]) || !alphanumeric(part[len(part)-1]) {
		return false
	}
	for _, b := range part {
		if !alphanumeric(b) && b != '-' && b != '_' && b != '.' {
			return false
		}
	}
	return true
}

func alphanumeric(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// seal appends the object at its new version. Metadata stays as it came, but for the restore
// annotations.
func (e envelope) seal(out []byte, apiVersion string, r quickResult) []byte {
	out = jsonindex.Quote(append(out, `{"apiVersion":`...), apiVersion)
	out = append(append(out, `,"kind":`...), e.kind.Bytes()...)
	out = append(out, `,"metadata":`...)
	switch {
	case r.value != nil || e.annotations.ours():
		out = e.sealMetadata(out, r)
	case !e.metadata.Exists():
		out = append(out, "{}"...)
	default:
		out = append(out, e.metadata.Bytes()...)
	}
	if r.body.spec.exists() {
		out = append(append(out, `,"spec":`...), r.body.spec.json...)
	}
	if r.body.status.exists() {
		out = append(append(out, `,"status":`...), r.body.status.json...)
	}
	return append(out, '}')
}

// sealMetadata writes metadata with other restore annotations.
func (e envelope) sealMetadata(out []byte, r quickResult) []byte {
	var metadata jsonindex.Object
	for name, value := range e.metadata.Fields() {
		if string(name) != "annotations" {
			out = append(metadata.Name(out, name), value.Bytes()...)
		}
	}
	if r.value != nil || e.annotations.size > 0 {
		out = e.sealAnnotations(metadata.Name(out, annotationsName), r)
	}
	return metadata.End(out)
}

var annotationsName = []byte("annotations")

func (e envelope) sealAnnotations(out []byte, r quickResult) []byte {
	var annotations jsonindex.Object
	for name, value := range e.annotations.object.Fields() {
		if string(name) != common.ConversionDataAnnotation && string(name) != common.V1Alpha1DataAnnotation {
			out = append(annotations.Name(out, name), value.Bytes()...)
		}
	}
	if r.value != nil {
		out = jsonindex.Quote(annotations.Name(out, []byte(r.annotation)), r.value)
	}
	return annotations.End(out)
}
