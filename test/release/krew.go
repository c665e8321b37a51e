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
		if sums[archiveName(p)] == "" {
			continue // of a release for some platforms
		}
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
			"shortDescription": "See, explain, request and check with Fairlead",
			"description": "Shows ExternalServices, RebootPolicies, ChaosPods and what depends on them as\n" +
				"a tree (status) or in a browser (ui), explains why one is as it is (why), what\n" +
				"a change would restart (what-if), and what has been survived (report). Requests\n" +
				"something once, and waits for it: restart, retry, approve, run, failback, fault,\n" +
				"drain, rotate-ca. Checks manifests without a cluster, by the code that the webhooks\n" +
				"run, or what a cluster has stored, and converts them between their versions.\n" +
				"Checks an installation: CRDs, webhooks, certificates, rights.\n",
			"platforms": platforms,
		},
	})
}
