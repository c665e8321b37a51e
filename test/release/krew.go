// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sigs.k8s.io/yaml"
)

// krew is the manifest of `kubectl fairlead` for krew, kubectl's manager of plugins. sums are the checksums of
// the archives by their names, and from is the address that they are downloaded from, without the name.
func krew(of, from string, sums map[string]string) ([]byte, error) {
	var platforms []any
	for _, p := range Platforms() {
		platforms = append(platforms, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": p.OS, "arch": p.Architecture}},
			"uri":      from + archiveName(p),
			"sha256":   sums[archiveName(p)],
			"bin":      programName(p),
			"files":    []map[string]string{{"from": programName(p), "to": "."}, {"from": "LICENSE", "to": "."}},
		})
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   map[string]string{"name": "fairlead"},
		"spec": map[string]any{
			"version":          of,
			"homepage":         "https://" + module,
			"shortDescription": "Check manifests and installations of Fairlead",
			"description": "Checks manifests of ExternalServices, RebootPolicies and ChaosPods without a\n" +
				"cluster, by the code that its webhooks run, or what a cluster has stored, and\nconverts them between their versions. Checks an installation: CRDs, webhooks,\ncertificates, rights.\n",
			"platforms": platforms,
		},
	})
}
