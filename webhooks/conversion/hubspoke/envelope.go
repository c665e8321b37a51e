// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// envelope is the parts of an object.
type envelope struct {
	apiVersion, kind, metadata jsonindex.Value

	annotations annotations
	body        sections
}

// annotations of an object.
type annotations struct {
	object     jsonindex.Value
	hub, spoke jsonindex.Value // the restore annotations
	size       int             // bytes of the others, at most
}

func (a annotations) hasRestore() bool { return a.hub.Exists() || a.spoke.Exists() }

func (a annotations) get(k restoreKey) jsonindex.Value {
	if k.annotation == common.ConversionDataAnnotation {
		return a.hub
	}
	return a.spoke
}

// parseEnvelope returns false where an object has no kind, members that no Kubernetes object has, or duplicate
// names.
func parseEnvelope(object jsonindex.Value) (e envelope, ok bool) {
	for name, value := range object.Fields() {
		switch string(name) {
		case "apiVersion":
			ok = !e.apiVersion.Exists()
			e.apiVersion = value
		case "kind":
			ok = !e.kind.Exists()
			e.kind = value
		case "metadata":
			ok = !e.metadata.Exists() && e.parseMetadata(value)
		case "spec":
			ok = !e.body.spec.exists() && value.Kind() == '{'
			e.body.spec = sectionOf(value)
		case "status":
			ok = !e.body.status.exists() && hasMembers(value)
			e.body.status = sectionOf(value)
		default:
			ok = false
		}
		if !ok {
			return envelope{}, false
		}
	}
	return e, e.apiVersion.Kind() == '"' && e.kind.Kind() == '"'
}

// hasMembers reports whether this is an object with a member that is not null.
func hasMembers(object jsonindex.Value) bool {
	for _, value := range object.Fields() {
		if value.Kind() != 'n' {
			return true
		}
	}
	return false
}

func (e *envelope) parseMetadata(metadata jsonindex.Value) bool {
	e.metadata = metadata
	for name, value := range metadata.Fields() {
		if string(name) == "annotations" && (e.annotations.object.Exists() || !e.annotations.parse(value)) {
			return false
		}
	}
	return metadata.Kind() == '{'
}

func (a *annotations) parse(object jsonindex.Value) bool {
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
			if !isQualifiedName(name) {
				return false
			}
			a.size += len(name) + len(value.Bytes())
		}
	}
	return object.Kind() == '{' && a.size <= apivalidation.TotalAnnotationSizeLimitB
}

// isQualifiedName reports whether the API server certainly accepts a name of an annotation. It may accept
// others too; total uses its own validation.
func isQualifiedName(name []byte) bool {
	prefix, rest, both := bytes.Cut(name, []byte{'/'})
	if !both {
		return isNameSegment(prefix, 63)
	}
	for label := range bytes.SplitSeq(prefix, []byte{'.'}) {
		if !isNameSegment(label, 63) || bytes.IndexByte(label, '_') >= 0 {
			return false
		}
	}
	return len(prefix) <= 253 && isNameSegment(rest, 63)
}

// isNameSegment reports whether a part has letters and digits, with other signs only between them.
func isNameSegment(part []byte, most int) bool {
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

// append appends the object at its new version. Of metadata, only the restore annotations change.
func (e envelope) append(out []byte, apiVersion string, r fastResult) []byte {
	out = jsonindex.Quote(append(out, `{"apiVersion":`...), apiVersion)
	out = append(append(out, `,"kind":`...), e.kind.Bytes()...)
	out = append(out, `,"metadata":`...)
	switch {
	case r.value != nil || e.annotations.hasRestore():
		out = e.appendMetadata(out, r)
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

// appendMetadata appends metadata with other restore annotations.
func (e envelope) appendMetadata(out []byte, r fastResult) []byte {
	var metadata jsonindex.Object
	for name, value := range e.metadata.Fields() {
		if string(name) != "annotations" {
			out = append(metadata.Name(out, name), value.Bytes()...)
		}
	}
	if r.value != nil || e.annotations.size > 0 {
		out = e.appendAnnotations(metadata.Name(out, annotationsName), r)
	}
	return metadata.End(out)
}

var annotationsName = []byte("annotations")

func (e envelope) appendAnnotations(out []byte, r fastResult) []byte {
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
