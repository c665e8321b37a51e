// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// member is a namespace that passes. One that arrives is watched first and listed then, so that no event is
// missing, and events and list are put together by the resource versions of each object.
type member struct {
	seen   map[string]uint64 // while it is listed: the newest event of each name
	listed map[string]uint64 // until the watch has come to the list: the version of each name in it
	until  uint64            // the resource version of the list
}

// passes reports whether an event is newer than what was listed.
func (m *member) passes(name string, version uint64) bool {
	if m.seen != nil {
		m.seen[name] = version
	}
	if version > m.until {
		m.listed = nil
	}
	return m.listed == nil || version > m.listed[name]
}

// merge takes a list, and returns what no event has shown a newer state of. If the whole kind was listed meanwhile,
// that has all of it.
func (m *member) merge(objects []runtime.Object, at uint64) (newer []runtime.Object) {
	if m.seen == nil {
		return nil
	}
	m.listed, m.until = make(map[string]uint64, len(objects)), at
	for _, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			continue
		}
		name, listed := accessor.GetName(), version(accessor.GetResourceVersion())
		m.listed[name] = listed
		if m.seen[name] < listed {
			newer = append(newer, object)
		}
	}
	m.seen = nil
	return newer
}

func version(text string) uint64 {
	parsed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return parsed
}
