// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// catchUp is how long the cache may be behind a write of ours before we act upon it anyway: what we
// wrote may have been changed or removed before the cache saw it.
const catchUp = 5 * time.Second

// write is a slice that we wrote, or removed where version is empty.
type write struct {
	version string
	at      time.Time
}

// wroteSlice remembers a write until the cache shows it.
func (m *memory) wroteSlice(name, version string, now time.Time) {
	if m.wrote == nil {
		m.wrote = map[string]write{}
	}
	m.wrote[name] = write{version, now}
}

// behind says whether the cache does not show yet what we wrote. To decide by what it shows would
// undo that, or fail with a conflict.
func (m *memory) behind(current []*discoveryv1.EndpointSlice, now time.Time) bool {
	behind := false
	for name, w := range m.wrote {
		if now.Sub(w.at) < catchUp && !w.shown(find(current, name)) {
			behind = true
			continue
		}
		delete(m.wrote, name)
	}
	return behind
}

func (w write) shown(cached *discoveryv1.EndpointSlice) bool {
	switch {
	case w.version == "":
		return cached == nil || cached.DeletionTimestamp != nil
	case cached == nil:
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, w.version)
	return err != nil || order >= 0
}
