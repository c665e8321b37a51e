// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"maps"
	"slices"
)

// provenance is an in-toto statement with SLSA's predicate: which files a release has, and what they were made
// from. It is not signed: who publishes a release attests to where it ran.
func (s *Source) provenance(toolchain, reference, digest string, sums map[string]string) ([]byte, error) {
	type resource struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	subjects := []resource{{Name: reference, Digest: map[string]string{"sha256": digest}}}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		subjects = append(subjects, resource{Name: name, Digest: map[string]string{"sha256": sums[name]}})
	}
	return json.MarshalIndent(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          "https://" + module + "/blob/main/docs/reference/releases.md",
				"externalParameters": map[string]string{"version": s.Version, "image": reference},
				"resolvedDependencies": []resource{
					{URI: "git+https://" + module + "@refs/tags/" + s.Version, Digest: map[string]string{"gitCommit": s.Commit}},
					{URI: "pkg:golang/toolchain@" + toolchain},
				},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": "https://" + module + "/blob/main/Makefile"}},
		},
	}, "", "  ")
}
