// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/internal/spelling"
)

// converter converts the objects of one document.
type converter struct {
	conversion *Conversion
	out        *Result
	first      string // the first object that was converted
}

// value returns the node that a node becomes. Failures are in the result.
func (c *converter) value(n *manifest.Node) *manifest.Node {
	apiVersion, kind := n.Text("apiVersion"), n.Text("kind")
	group, version, grouped := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "v1" && kind == "List":
		return c.list(n, nil, "")
	case !grouped || !slices.Contains(c.conversion.groups, group):
		return n
	}
	single, list := strings.CutSuffix(kind, "List")
	known := c.conversion.kinds[group+"/"+single]
	if known == nil {
		c.fail(n, fmt.Errorf("%s has no kind %.100q; its kinds are %s", group, kind, c.conversion.kindsOf(group)))
		return n
	}
	for _, wanted := range []string{version, c.conversion.options.To} {
		if known.Types[wanted] == nil {
			served := strings.Join(slices.Sorted(maps.Keys(known.Types)), " and ")
			c.fail(n, fmt.Errorf("%s has no version %.100q; %s is served at %s", group, wanted, single, served))
			return n
		}
	}
	if list {
		return c.list(n, known, version)
	}
	return c.object(n, known, version)
}

// list converts the items of a list, and of a list of one kind also its version.
func (c *converter) list(n *manifest.Node, kind *Kind, version string) *manifest.Node {
	out := &manifest.Node{Position: n.Position, Kind: manifest.Mapping}
	for _, m := range n.Members {
		switch {
		case m.Key == "apiVersion" && kind != nil && version != c.conversion.options.To:
			m.Value = &manifest.Node{Value: kind.Group + "/" + c.conversion.options.To}
			c.stale(n, kind.Kind+"List", version)
		case m.Key == "items" && m.Value.Kind == manifest.Sequence:
			items := &manifest.Node{Kind: manifest.Sequence}
			for _, item := range m.Value.Items {
				items.Items = append(items.Items, c.item(item, kind, version))
			}
			m.Value = items
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// item converts an item, which need not repeat the type that its list has.
func (c *converter) item(n *manifest.Node, kind *Kind, version string) *manifest.Node {
	if n.Kind != manifest.Mapping || kind == nil {
		return c.value(n)
	}
	typed := &manifest.Node{Position: n.Position, Kind: manifest.Mapping, Members: slices.Clone(n.Members)}
	var implied []string
	for _, member := range [][2]string{{"apiVersion", kind.Group + "/" + version}, {"kind", kind.Kind}} {
		if value := n.Get(member[0]); value == nil || value.Kind == manifest.Scalar && value.Value == nil {
			implied = append(implied, member[0])
			typed.Remove(member[0])
			typed.Members = append(typed.Members, manifest.Member{Key: member[0], Value: &manifest.Node{Value: member[1]}})
		}
	}
	converted := c.value(typed)
	if converted == typed {
		return n
	}
	for _, name := range implied {
		converted.Remove(name)
	}
	return converted
}

func (c *converter) object(n *manifest.Node, kind *Kind, version string) *manifest.Node {
	if version == c.conversion.options.To {
		return n
	}
	converted, err := c.conversion.object(n, kind)
	if err != nil {
		c.fail(n, err)
		return n
	}
	label := kind.Kind + " " + name(n)
	c.first = cmp.Or(c.first, label)
	c.stale(n, label, version)
	if c.conversion.options.Vet != nil {
		if raw, err := json.Marshal(converted.Exact()); err == nil {
			c.noteVet(n, label, c.conversion.options.Vet(raw))
		}
	}
	return converted
}

// noteVet notes what a cluster would refuse, which converters let through: a webhook has to.
func (c *converter) noteVet(n *manifest.Node, label string, wrong []string) {
	if len(wrong) == 0 {
		return
	}
	text := "the result does not pass vet: " + wrong[0]
	if more := len(wrong) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	c.note(n, label, text)
}

// object converts one object. What a converter may return beyond that, such as empty parts, is noise in
// a manifest.
func (c *Conversion) object(object *manifest.Node, kind *Kind) (converted *manifest.Node, err error) {
	if err := checkMetadata(object); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(object.Exact())
	if err != nil {
		return nil, err
	}
	table, _ := spelling.Of(schema.GroupKind{Group: kind.Group, Kind: kind.Kind})
	answer, err := table.Convert(raw, kind.Group, c.options.To)
	if err != nil {
		return nil, err
	}
	converted, err = manifest.ParseJSON(answer)
	if err != nil {
		return nil, fmt.Errorf("the converter returned no JSON: %w", err)
	}
	if converted.Text("apiVersion") != kind.Group+"/"+c.options.To || converted.Text("kind") != object.Text("kind") {
		return nil, fmt.Errorf("the converter returned no %s of %s", kind.Kind, c.options.To)
	}
	for _, part := range []string{"metadata", "status"} {
		if object.Get(part) == nil && isEmpty(converted.Get(part)) {
			converted.Remove(part)
		}
	}
	sortFields(converted, answer, kind.Types[c.options.To])
	converted.SortLike(object)
	return converted, nil
}

// sortFields puts the fields of a converted object in the order of its Go type, as far as it fits into that.
func sortFields(object *manifest.Node, raw []byte, of reflect.Type) {
	typed := reflect.New(of).Interface()
	_ = json.Unmarshal(raw, typed)
	raw, _ = json.Marshal(typed)
	if sorted, err := manifest.ParseJSON(raw); err == nil {
		object.SortLike(sorted)
	}
}

// checkMetadata refuses metadata that a converter would not return whole.
func checkMetadata(object *manifest.Node) error {
	metadata := object.Get("metadata")
	if !isEmpty(metadata) && metadata.Kind != manifest.Mapping {
		return errors.New("metadata must be an object")
	}
	annotations := metadata.Get("annotations")
	if isEmpty(annotations) {
		return nil
	}
	if annotations.Kind != manifest.Mapping {
		return errors.New("metadata.annotations must be an object")
	}
	for _, m := range annotations.Members {
		if _, text := m.Value.Value.(string); !text {
			return fmt.Errorf("metadata.annotations[%.100q] must be a string; put it in quotes", m.Key)
		}
	}
	return nil
}

// isEmpty reports whether a node is missing, null, or a mapping without members.
func isEmpty(n *manifest.Node) bool {
	return n == nil || n.Kind == manifest.Scalar && n.Value == nil || n.Kind == manifest.Mapping && len(n.Members) == 0
}

func name(object *manifest.Node) string {
	metadata := object.Get("metadata")
	name := metadata.Text("name")
	if generate := metadata.Text("generateName"); name == "" && generate != "" {
		name = generate + "*"
	}
	name = cmp.Or(name, "without a name")
	if namespace := metadata.Text("namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%.400s", name)
}

func (c *converter) stale(n *manifest.Node, object, version string) {
	c.out.Stale = append(c.out.Stale, Finding{n.Position, object, "is at " + version + ", not at " + c.conversion.options.To})
}

func (c *converter) note(n *manifest.Node, object, text string) {
	c.out.Notes = append(c.out.Notes, Finding{n.Position, object, text})
}

func (c *converter) fail(n *manifest.Node, err error) {
	c.out.Failed = append(c.out.Failed, Finding{n.Position, fmt.Sprintf("%.100s %s", n.Text("kind"), name(n)), err.Error()})
}

func (c *Conversion) kindsOf(group string) string {
	var names []string
	for _, kind := range c.kinds {
		if kind.Group == group {
			names = append(names, kind.Kind)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
