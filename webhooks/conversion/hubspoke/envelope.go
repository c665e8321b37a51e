// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"bytes"
	"errors"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// envelope is an object taken apart into bytes.
type envelope struct {
	apiVersion, kind string
	metadata         []wire.Member
	annotations      map[string]string
	body             sections
}

func (e envelope) has(annotation string) bool {
	_, has := e.annotations[annotation]
	return has
}

// openEnvelope answers false for what is not an ordinary object: one without kind or metadata, with
// members that no Kubernetes object has, or with names that stand twice.
func openEnvelope(raw []byte) (envelope, bool) {
	members, err := wire.Members(raw)
	if err != nil {
		return envelope{}, false
	}
	var e envelope
	seen := make([]string, 0, 5)
	for _, m := range members {
		if slices.Contains(seen, m.Name) || bytes.Equal(m.Value, []byte("null")) {
			return envelope{}, false
		}
		seen = append(seen, m.Name)
		switch m.Name {
		case "apiVersion":
			e.apiVersion, err = text(m.Value)
		case "kind":
			e.kind, err = text(m.Value)
		case "metadata":
			err = e.openMetadata(m.Value)
		case "spec":
			e.body.spec = m.Value
		case "status":
			e.body.status = m.Value
		default:
			return envelope{}, false
		}
		if err != nil {
			return envelope{}, false
		}
	}
	return e, e.kind != ""
}

var errRepeated = errors.New("a name stands twice")

func (e *envelope) openMetadata(raw []byte) error {
	var err error
	if e.metadata, err = wire.Members(raw); err != nil {
		return err
	}
	for n, m := range e.metadata {
		if slices.ContainsFunc(e.metadata[:n], func(other wire.Member) bool { return other.Name == m.Name }) {
			return errRepeated
		}
		if m.Name == "annotations" {
			if err := jsonv2.Unmarshal(m.Value, &e.annotations); err != nil {
				return err
			}
		}
	}
	return nil
}

// seal writes the object at its new version. Metadata stays as it came, but for the restore
// annotations.
func (e envelope) seal(apiVersion string, r quickResult) []byte {
	size := len(apiVersion) + len(e.kind) + len(r.body.spec) + len(r.body.status) + 2*len(r.value) + 128
	for _, m := range e.metadata {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), `{"apiVersion":`...)
	out = append(append(out, marshal(apiVersion)...), `,"kind":`...)
	out = append(append(out, marshal(e.kind)...), `,"metadata":{`...)
	edited := r.value != "" || e.has(common.ConversionDataAnnotation) || e.has(common.V1Alpha1DataAnnotation)
	first := true
	member := func(name string, value []byte) {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(append(out, marshal(name)...), ':'), value...)
	}
	for _, m := range e.metadata {
		if m.Name != "annotations" || !edited {
			member(m.Name, m.Value)
		}
	}
	if edited {
		delete(e.annotations, common.ConversionDataAnnotation)
		delete(e.annotations, common.V1Alpha1DataAnnotation)
		if r.value != "" {
			if e.annotations == nil {
				e.annotations = map[string]string{}
			}
			e.annotations[r.annotation] = r.value
		}
		if len(e.annotations) > 0 {
			member("annotations", marshal(e.annotations))
		}
	}
	out = append(out, '}')
	if r.body.spec != nil {
		out = append(append(out, `,"spec":`...), r.body.spec...)
	}
	if r.body.status != nil {
		out = append(append(out, `,"status":`...), r.body.status...)
	}
	return append(out, '}')
}

// text reads a JSON string.
func text(raw []byte) (string, error) {
	var out string
	err := jsonv2.Unmarshal(raw, &out)
	return out, err
}
