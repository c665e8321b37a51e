// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

// converter converts the objects of one document.
type converter struct {
	conversion *Conversion
	document   *manifest.Document
	out        *Result
	first      string // the first object that was converted
}

// value returns what a value becomes, and the order of its fields. Failures are in the result.
func (w *converter) value(value any, path []any) (any, *manifest.Order) {
	object, ok := value.(map[string]any)
	if !ok {
		return value, nil
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, version, grouped := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "v1" && kind == "List":
		return w.list(object, path, nil, "")
	case !grouped || !slices.Contains(w.conversion.groups, group):
		return value, nil
	}
	single, list := strings.CutSuffix(kind, "List")
	known := w.conversion.kinds[group+"/"+single]
	if known == nil {
		w.fail(path, object, fmt.Errorf("%s has no kind %.100q; its kinds are %s", group, kind, w.conversion.kindsOf(group)))
		return value, nil
	}
	if known.Types[version] == nil || known.Types[w.conversion.To] == nil {
		unserved := version
		if known.Types[version] != nil {
			unserved = w.conversion.To
		}
		w.fail(path, object, fmt.Errorf("%s has no version %.100q; %s is served at %s", group, unserved, single,
			strings.Join(slices.Sorted(maps.Keys(known.Types)), " and ")))
		return value, nil
	}
	if list {
		return w.list(object, path, known, version)
	}
	return w.object(object, path, known, version)
}

// list converts the items of a list, and of a list of one kind also its version.
func (w *converter) list(object map[string]any, path []any, kind *Kind, version string) (any, *manifest.Order) {
	out := maps.Clone(object)
	if kind != nil && version != w.conversion.To {
		out["apiVersion"] = kind.Group + "/" + w.conversion.To
		w.stale(path, kind.Kind+"List", version)
	}
	items, ok := object["items"].([]any)
	if !ok {
		return out, nil
	}
	orders := make([]*manifest.Order, len(items))
	converted := make([]any, len(items))
	for i, item := range items {
		converted[i], orders[i] = w.item(item, append(slices.Clone(path), "items", i), kind, version)
	}
	out["items"] = converted
	return out, manifest.OrderOfList(func(i int) *manifest.Order { return orders[i] })
}

// item converts an item, which need not repeat the type that its list has.
func (w *converter) item(item any, path []any, kind *Kind, version string) (any, *manifest.Order) {
	object, ok := item.(map[string]any)
	if !ok || kind == nil {
		return w.value(item, path)
	}
	typed := maps.Clone(object)
	implied := map[string]any{"apiVersion": kind.Group + "/" + version, "kind": kind.Kind}
	for name, value := range implied {
		if typed[name] == nil {
			typed[name] = value
		} else {
			delete(implied, name)
		}
	}
	value, order := w.value(typed, path)
	if converted, ok := value.(map[string]any); ok {
		for name := range implied {
			converted = without(converted, name)
		}
		return converted, order
	}
	return value, order
}

func (w *converter) object(object map[string]any, path []any, kind *Kind, version string) (any, *manifest.Order) {
	if version == w.conversion.To {
		return object, nil
	}
	converted, err := w.conversion.object(object, kind)
	if err != nil {
		w.fail(path, object, err)
		return object, nil
	}
	label := kind.Kind + " " + name(object)
	if w.first == "" {
		w.first = label
	}
	w.stale(path, label, version)
	if w.conversion.DropRestore {
		if dropped := drop(converted, w.conversion.Annotations); len(dropped) > 0 {
			w.note(path, label, fmt.Sprintf("%s left out, and with it what %s cannot express", strings.Join(dropped, ", "), w.conversion.To))
		}
	}
	if w.conversion.Vet != nil {
		if raw, err := json.Marshal(converted); err == nil {
			w.noteVet(path, label, w.conversion.Vet(raw))
		}
	}
	return converted, manifest.OrderOf(kind.Types[w.conversion.To], kind.Successors)
}

// noteVet notes what a cluster would refuse, which converters let through: a webhook has to.
func (w *converter) noteVet(path []any, label string, wrong []string) {
	switch len(wrong) {
	case 0:
	case 1:
		w.note(path, label, "the result does not pass vet: "+wrong[0])
	default:
		w.note(path, label, fmt.Sprintf("the result does not pass vet: %s; and %d more", wrong[0], len(wrong)-1))
	}
}

// object converts one object. What a converter may answer beyond that, such as empty parts, is noise in
// a manifest.
func (c *Conversion) object(object map[string]any, kind *Kind) (converted map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the converter panicked, which is a bug of fairlead: %v", p)
		}
	}()
	if err := checkMetadata(object); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if measure, ok := kind.Converter.(interface {
		RestoreBytes(raw []byte, toVersion string) (int, error)
	}); ok && c.MaxRestore > 0 && !c.DropRestore {
		size, err := measure.RestoreBytes(raw, c.To)
		if err != nil {
			return nil, err
		}
		if size > c.MaxRestore {
			return nil, fmt.Errorf("what %s cannot express takes %d bytes, and the restore annotation may have %d: make the spec smaller, or drop it with --drop-restore",
				c.To, size, c.MaxRestore)
		}
	}
	answer, err := kind.Converter.Convert(raw, c.To)
	if err != nil {
		return nil, err
	}
	value, err := manifest.Decode(answer)
	if err != nil {
		return nil, fmt.Errorf("the converter answered no JSON: %w", err)
	}
	converted, ok := value.(map[string]any)
	if !ok || converted["apiVersion"] != kind.Group+"/"+c.To || converted["kind"] != object["kind"] {
		return nil, fmt.Errorf("the converter answered no %s of %s", kind.Kind, c.To)
	}
	for _, part := range []string{"metadata", "status"} {
		if _, had := object[part]; !had && empty(converted[part]) {
			converted = without(converted, part)
		}
	}
	return converted, nil
}

// checkMetadata refuses metadata that a converter would not give back whole.
func checkMetadata(object map[string]any) error {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok && object["metadata"] != nil {
		return fmt.Errorf("metadata must be an object")
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok && metadata["annotations"] != nil {
		return fmt.Errorf("metadata.annotations must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if _, text := annotations[name].(string); !text {
			return fmt.Errorf("metadata.annotations[%.100q] must be a string; put it in quotes", name)
		}
	}
	return nil
}

func empty(value any) bool {
	members, ok := value.(map[string]any)
	return value == nil || ok && len(members) == 0
}

func without(object map[string]any, name string) map[string]any {
	out := maps.Clone(object)
	delete(out, name)
	return out
}

// drop takes annotations out of a converted object, which has no other reference.
func drop(object map[string]any, names []string) (dropped []string) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, name := range names {
		if _, has := annotations[name]; has {
			delete(annotations, name)
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return dropped
}

func name(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	text := func(key string) string { s, _ := metadata[key].(string); return s }
	name := text("name")
	if name == "" && text("generateName") != "" {
		name = text("generateName") + "*"
	}
	if name == "" {
		name = "without a name"
	}
	if namespace := text("namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%.400s", name)
}

func (w *converter) stale(path []any, object, version string) {
	w.out.Stale = append(w.out.Stale, Finding{w.document.Position(path...), object, "is at " + version + ", not at " + w.conversion.To})
}

func (w *converter) note(path []any, object, text string) {
	w.out.Notes = append(w.out.Notes, Finding{w.document.Position(path...), object, text})
}

func (w *converter) fail(path []any, object map[string]any, err error) {
	kind, _ := object["kind"].(string)
	w.out.Failed = append(w.out.Failed, Finding{w.document.Position(path...), fmt.Sprintf("%.100s %s", kind, name(object)), err.Error()})
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
