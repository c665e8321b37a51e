// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// Converter converts objects of one kind between its versions.
type Converter interface {
	// Convert returns the object at another version of its kind, a bare version such as "v1". It
	// must not keep or change raw, whose bytes are used again after it returns.
	Convert(raw []byte, toVersion string) ([]byte, error)
}

// Appender is a Converter that appends its answer to out, and that is given objects which have been
// read as JSON already: it need not look for their parts again.
type Appender interface {
	Converter
	AppendConverted(out []byte, object wire.Value, toVersion string) (hubspoke.Converted, error)
}

// Versioned is a Converter that can say which versions it converts between.
type Versioned interface {
	Converter
	Versions() []string
}

// Registry says who converts which kind. It is filled before the first handler is made from it and
// fixed from then on, so that serving takes no lock.
type Registry struct {
	mu     sync.Mutex
	frozen bool
	kinds  map[schema.GroupKind]registration
}

type registration struct {
	converter Appender
	versions  []string
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{kinds: make(map[schema.GroupKind]registration)}
}

// Register adds the converter of a kind and the versions it knows, which may be left out where the
// converter is Versioned. It fails on a second converter for the kind, on fewer than two
// versions, and once a handler serves from the registry: a converter added then would be a race
// at best.
func (r *Registry) Register(group, kind string, c Converter, versions ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := schema.GroupKind{Group: group, Kind: kind}
	if versioned, ok := c.(Versioned); ok && len(versions) == 0 {
		versions = versioned.Versions()
	}
	known := slices.Compact(slices.Sorted(slices.Values(versions)))
	switch _, taken := r.kinds[id]; {
	case r.frozen:
		return fmt.Errorf("converter of %s: the registry is being served already; register before NewHandler", id)
	case taken:
		return fmt.Errorf("converter of %s: one is registered already", id)
	case c == nil || group == "" || kind == "":
		return fmt.Errorf("converter of %s: group, kind and converter are all needed", id)
	case len(known) < 2:
		return fmt.Errorf("converter of %s: name the two or more versions it converts between, not %q", id, versions)
	}
	r.kinds[id] = registration{converter: appender(c), versions: known}
	return nil
}

// appending makes an Appender of any Converter.
type appending struct{ Converter }

func (a appending) AppendConverted(out []byte, object wire.Value, toVersion string) (hubspoke.Converted, error) {
	converted, err := a.Convert(object.Bytes(), toVersion)
	return hubspoke.Converted{Object: append(out, converted...)}, err
}

func appender(c Converter) Appender {
	if a, ok := c.(Appender); ok {
		return a
	}
	return appending{c}
}

// freeze returns what is registered, and closes the registry.
func (r *Registry) freeze() (map[schema.GroupKind]registration, error) {
	if r == nil {
		return nil, errors.New("no registry")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
	return r.kinds, nil
}
