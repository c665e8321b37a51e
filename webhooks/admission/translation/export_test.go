// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// StoredOnly reports whether a table names a field as one that v1 alone has, or one above it.
func StoredOnly(kind, path string) bool {
	best := rule{}
	for _, r := range tables[kind] {
		if _, _, ok := match(path, r.from); ok && len(r.from) > len(best.from) {
			best = r
		}
	}
	return best.rest == only
}
