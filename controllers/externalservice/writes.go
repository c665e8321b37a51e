// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// sliceWrite is an EndpointSlice that we wrote, or removed where version is empty.
type sliceWrite struct {
	version string
	at      time.Time
}

// recordSliceWrite remembers a write until the cache shows it.
func (m *objectState) recordSliceWrite(name, version string, now time.Time) {
	if m.sliceWrites == nil {
		m.sliceWrites = map[string]sliceWrite{}
	}
	m.sliceWrites[name] = sliceWrite{version, now}
}

// cacheStale says whether the cache does not show yet what we wrote. To decide by what it shows would
// undo that, or fail with a conflict.
func (m *objectState) cacheStale(current []*discoveryv1.EndpointSlice, now time.Time) bool {
	behind := false
	for name, w := range m.sliceWrites {
		if now.Sub(w.at) < controller.StaleTimeout && !w.isCached(findSlice(current, name)) {
			behind = true
			continue
		}
		delete(m.sliceWrites, name)
	}
	return behind
}

func (w sliceWrite) isCached(cached *discoveryv1.EndpointSlice) bool {
	switch {
	case w.version == "":
		return cached == nil || cached.DeletionTimestamp != nil
	case cached == nil:
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, w.version)
	return err != nil || order >= 0
}

// recordStatusWrite remembers a write of an object's status.
func (all *stateStore) recordStatusWrite(es *networkingv1.ExternalService, now time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if m := all.byKey[client.ObjectKeyFromObject(es)]; m != nil && m.uid == es.UID {
		m.statusWrite.Record(es, now)
		writeDamping.add(&m.statusWriteRate, 1, now)
	}
}

// statusCacheStale says whether an object, as the cache has it, lacks the status that we wrote last. To
// build upon that would end in a conflict; and a status that is what was there before would be
// taken for the one that is there.
func (all *stateStore) statusCacheStale(es *networkingv1.ExternalService, now time.Time) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	m := all.byKey[client.ObjectKeyFromObject(es)]
	return m != nil && m.uid == es.UID && m.statusWrite.NewerThan(es, now)
}
