// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/internal/spelling"
)

// Kind is a kind whose objects are converted.
type Kind struct {
	Group, Kind string
	// Types are the Go types of the served versions, which give new fields their order.
	Types map[string]reflect.Type
}

// Options of New.
type Options struct {
	// Kinds are the kinds to convert; objects of other kinds are left alone. Required.
	Kinds []Kind
	// To is the version to convert to, such as "v1". Required.
	To string
	// Vet returns what is wrong with a converted object, given as JSON. Defaults to nil: nothing is checked.
	Vet func(object []byte) []string
}

// Conversion converts manifests. It is safe for concurrent use.
type Conversion struct {
	options Options
	kinds   map[string]*Kind // by group/kind
	groups  []string
}

// New returns a Conversion. It fails if no kind has the version o.To, or if a kind has no conversion.
func New(o Options) (*Conversion, error) {
	c := &Conversion{options: o, kinds: make(map[string]*Kind, len(o.Kinds))}
	for i := range o.Kinds {
		kind := &o.Kinds[i]
		if _, known := spelling.Of(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}); !known || len(kind.Types) < 2 {
			return nil, fmt.Errorf("%s: a kind of Fairlead and the types of two versions are required", kind.Kind)
		}
		c.kinds[kind.Group+"/"+kind.Kind] = kind
		if !slices.Contains(c.groups, kind.Group) {
			c.groups = append(c.groups, kind.Group)
		}
	}
	switch versions := Versions(o.Kinds); {
	case o.To == "":
		return nil, fmt.Errorf("say which version to convert to: --to %s", strings.Join(versions, ", or --to "))
	case !slices.Contains(versions, o.To):
		return nil, fmt.Errorf("no kind is served at version %q; the versions are %s", o.To, strings.Join(versions, " and "))
	}
	return c, nil
}

// Versions returns the served versions of all kinds, sorted.
func Versions(kinds []Kind) []string {
	all := map[string]bool{}
	for _, kind := range kinds {
		for version := range kind.Types {
			all[version] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Finding is a message about one object, with its place in the text.
type Finding struct {
	manifest.Position
	// Object names the object, such as "ExternalService shop/billing-db". It is empty for a message about the text.
	Object string
	Text   string
}

func (f Finding) String() string {
	if f.Object == "" {
		return f.Text
	}
	return f.Object + ": " + f.Text
}

// Result is a converted text.
type Result struct {
	Text []byte
	// Documents counts the documents that hold more than comments.
	Documents int
	JSON      bool      // the text is JSON, and only that
	Stale     []Finding // objects that were at another version than Options.To
	Notes     []Finding // what the user should check in Text
	Failed    []Finding // objects that could not be converted; Text has them unchanged
	Changed   bool
}

// Text converts all objects of a manifest in YAML or JSON. It returns an error if the manifest cannot be parsed.
func (c *Conversion) Text(text []byte) (Result, error) {
	parts, err := manifest.Split(text)
	if err != nil {
		return Result{}, err
	}
	out := Result{JSON: true}
	for _, part := range parts {
		if !part.Empty() {
			out.Documents++
		}
		if !c.mentionsGroup(part.Text) {
			out.JSON = false
			out.Text = append(out.Text, part.Text...)
			continue
		}
		written, err := c.part(part, &out)
		if err != nil {
			return Result{}, err
		}
		out.Text = append(out.Text, written...)
	}
	out.Changed = string(out.Text) != string(text)
	return out, nil
}

// mentionsGroup reports whether a document may have an object of a known group. Others are not parsed, and may be
// no YAML, such as a template.
func (c *Conversion) mentionsGroup(text []byte) bool {
	return slices.ContainsFunc(c.groups, func(group string) bool { return strings.Contains(string(text), group) })
}

// part converts one document, and records in out what happened to its objects.
func (c *Conversion) part(part manifest.Part, out *Result) ([]byte, error) {
	document, err := manifest.Parse(part)
	switch {
	case err != nil:
		return nil, err
	case document == nil:
		out.JSON = false
		return part.Text, nil
	}
	out.JSON = out.JSON && document.JSON
	w := converter{conversion: c, out: out}
	text, notes, err := document.Rewrite(w.value(document.Root))
	if err != nil {
		out.Failed = append(out.Failed, Finding{Position: document.Root.Position, Object: w.first, Text: err.Error()})
		return part.Text, nil //nolint:nilerr // out.Failed reports it, and the other objects are converted
	}
	for _, note := range notes {
		out.Notes = append(out.Notes, Finding{Position: note.Position, Text: note.Text})
	}
	return text, nil
}
