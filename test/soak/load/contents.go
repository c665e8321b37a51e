// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
)

// is wants an object, with a spec, at the version that was asked for.
func is(apiVersion, kind, name string) func([]byte) error {
	return func(body []byte) error {
		var found struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Spec map[string]any `json:"spec"`
		}
		if err := json.Unmarshal(body, &found); err != nil {
			return fmt.Errorf("the answer is no object: %w", err)
		}
		if found.APIVersion != apiVersion || found.Kind != kind || found.Metadata.Name != name || len(found.Spec) == 0 {
			return fmt.Errorf("asked for %s %s %s, got %s %s %s with a spec of %d fields",
				apiVersion, kind, name, found.APIVersion, found.Kind, found.Metadata.Name, len(found.Spec))
		}
		return nil
	}
}

// lists wants a list at the version that was asked for, in which none of the names is missing.
func lists(apiVersion string, names []string) func([]byte) error {
	return func(body []byte) error {
		var found struct {
			APIVersion string `json:"apiVersion"`
			Items      []struct {
				APIVersion string `json:"apiVersion"`
				Metadata   struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"items"`
		}
		if err := json.Unmarshal(body, &found); err != nil {
			return fmt.Errorf("the answer is no list: %w", err)
		}
		got := map[string]bool{}
		for _, item := range found.Items {
			if item.APIVersion != apiVersion {
				return fmt.Errorf("a list at %s has an item at %s", apiVersion, item.APIVersion)
			}
			got[item.Metadata.Name] = true
		}
		for _, name := range names {
			if !got[name] {
				return fmt.Errorf("a list at %s lacks %s", apiVersion, name)
			}
		}
		return nil
	}
}
