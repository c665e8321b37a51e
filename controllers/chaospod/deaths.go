// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// deaths remembers how many pods each ChaosPod killed on a day, so that one that is deleted and created again, such as by
// `kubectl replace --force`, may not kill as many once more. Another process does not know them.
type deaths struct {
	mu  sync.Mutex // guards all
	all map[types.NamespacedName]deathsOfDay
}

type deathsOfDay struct {
	uid   types.UID
	day   string
	count int32
}

// record sets the deaths of a ChaosPod from its status, and drops those of earlier days.
func (d *deaths) record(object *chaosv1.ChaosPod) {
	st := &object.Status
	if st.KilledToday <= 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[types.NamespacedName]deathsOfDay{}
	}
	maps.DeleteFunc(d.all, func(_ types.NamespacedName, known deathsOfDay) bool { return known.day < st.KilledDay })
	d.all[client.ObjectKeyFromObject(object)] = deathsOfDay{object.UID, st.KilledDay, st.KilledToday}
}

// restore returns a ChaosPod that was not reconciled yet with the deaths of the former one of its name; any other as it is.
func (d *deaths) restore(object *chaosv1.ChaosPod) *chaosv1.ChaosPod {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.all[client.ObjectKeyFromObject(object)]
	if !ok || known.uid == object.UID || object.Status.ObservedGeneration > 0 || object.Status.KilledDay != "" {
		return object
	}
	restored := object.DeepCopy()
	restored.Status.KilledDay, restored.Status.KilledToday = known.day, known.count
	return restored
}
