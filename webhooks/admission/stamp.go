// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"maps"
	"slices"
)

const annotationsPath = "/metadata/annotations"

// annotate writes the way to annotations with these values as operations on raw, an object; an empty
// value stands for an annotation that is not there.
func annotate(raw []byte, values map[string]string) ([]operation, error) {
	if len(values) == 0 {
		return nil, nil
	}
	object, _, err := members(raw)
	if err != nil {
		return nil, err
	}
	metadata, _, err := members(object["metadata"])
	if err != nil {
		return nil, err
	}
	there, _, err := members(metadata["annotations"])
	if err != nil {
		return nil, err
	}
	var operations []operation
	set := func(path string, value any) error {
		encoded, err := json.Marshal(value)
		operations = append(operations, operation{"add", path, encoded})
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given, exists := there[name]
		var was string
		if exists {
			if err := json.Unmarshal(given, &was); err != nil {
				return nil, err
			}
		}
		switch value := values[name]; {
		case value == was && (value != "" || !exists):
		case value == "":
			operations = append(operations, operation{Op: "remove", Path: at(annotationsPath, name)})
		case there == nil:
			// Adding to a map that is not there is an error, and so is to add it twice.
			if err := set(annotationsPath, struct{}{}); err != nil {
				return nil, err
			}
			there = map[string][]byte{}
			fallthrough
		default:
			if err := set(at(annotationsPath, name), value); err != nil {
				return nil, err
			}
		}
	}
	return operations, nil
}
