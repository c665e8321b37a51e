// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// placeholder replaces the name that the API server generates.
const placeholder = "xxxxx"

// checkMetadata checks the metadata. Afterwards it removes fields of the wrong type, and sets a missing name, so
// that neither is reported a second time.
func (c *objectCheck) checkMetadata() {
	given, ok := c.data["metadata"].(map[string]any)
	if !ok {
		if c.data["metadata"] != nil {
			c.add(RuleMetadata, "metadata", "must be an object, not "+typeOfValue(c.data["metadata"]))
			c.data["metadata"] = map[string]any{"name": placeholder}
			return
		}
		given = map[string]any{}
		c.data["metadata"] = given
	}
	for _, part := range []string{"labels", "annotations"} {
		c.checkStrings(given, part)
	}
	var meta metav1.ObjectMeta
	raw, err := json.Marshal(given)
	if err == nil {
		err = jsonv2.Unmarshal(raw, &meta)
	}
	if err != nil {
		path, text := mistyped(given, err)
		c.add(RuleMetadata, join("metadata", path), text)
		c.data["metadata"] = map[string]any{"name": placeholder}
		return
	}
	if meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault // kubectl sets it, or that of the context
	}
	if meta.Name == "" && meta.GenerateName != "" {
		meta.Name = meta.GenerateName + placeholder
		given["name"] = meta.Name
	}
	for _, err := range validation.ValidateObjectMeta(&meta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		path, text := fieldOf(err), message(err)
		c.reported[path] = append(c.reported[path], text)
		c.add(RuleMetadata, path, text)
	}
	if meta.Name == "" {
		given["name"] = placeholder // so that it is not reported again
	}
}

// checkStrings reports labels and annotations that are no strings, as true and 1 are not in YAML.
func (c *objectCheck) checkStrings(metadata map[string]any, part string) {
	values, ok := metadata[part].(map[string]any)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, text := values[key].(string); text || values[key] == nil {
			continue
		}
		c.add(RuleMetadata, "metadata."+part+"["+key+"]", fmt.Sprintf("must be a string, not %s; put it in quotes", typeOfValue(values[key])))
		delete(values, key)
	}
}

func typeOfValue(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	default:
		return fmt.Sprint(value)
	}
}

// mistyped returns which field of a value could not be decoded, and why.
func mistyped(value any, err error) (path, text string) {
	var semantic *jsonv2.SemanticError
	if !errors.As(err, &semantic) {
		return "", err.Error()
	}
	path, found := pathOf(value, semantic.JSONPointer)
	text = "is of the wrong type: " + typeOfValue(found)
	if semantic.Err != nil {
		text = semantic.Err.Error()
	}
	return path, text
}

// pathOf writes a JSON pointer as a path, and returns what it points to.
func pathOf(value any, pointer jsontext.Pointer) (path string, found any) {
	for token := range pointer.Tokens() {
		switch at := value.(type) {
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return path, value
			}
			path, value = path+"["+token+"]", at[i]
		case map[string]any:
			path, value = join(path, token), at[token]
		default:
			return path, value
		}
	}
	return path, value
}

func join(path, name string) string {
	switch {
	case path == "" || name == "":
		return path + name
	case strings.ContainsAny(name, "./") && !strings.Contains(name, "["):
		return path + "[" + name + "]"
	}
	return path + "." + name
}
