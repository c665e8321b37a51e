// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// existence is the known existence of the ConfigMap.
type existence int

const (
	unknown existence = iota // the ConfigMap was not read, and may exist
	absent
	present
)

// errUnconfirmed is returned while reads do not find the ConfigMap and its deletion is not confirmed.
var errUnconfirmed = errors.New("the API server says that it does not exist, but no watch has shown that it was deleted")

// absence decides when the ConfigMap counts as absent, which lifts a freeze. A single NotFound is no proof: a load balancer may have sent
// the read to another cluster. While a watch shows the ConfigMap, no number of NotFounds is one.
type absence struct {
	existence    existence
	shown        bool          // whether the current watch shows the ConfigMap
	deleted      bool          // whether the last event of the watch is a deletion
	missing      bool          // whether each read since missingSince returned NotFound
	missingSince time.Duration // since Freeze.started
	version      string        // the resource version of the last read
	unread       string        // the resource version that the watch has shown since the last read; empty if it is the same
}

// observe records an event of the watch. An empty event means that the watch starts or ends.
func (a *absence) observe(event watch.Event) {
	switch event.Type {
	case "":
		a.shown = false
	case watch.Deleted:
		a.shown, a.deleted = false, true
	case watch.Added, watch.Modified:
		a.shown, a.deleted, a.missing = true, false, false
		if shown, ok := event.Object.(*corev1.ConfigMap); ok && shown.ResourceVersion != a.version {
			a.unread = shown.ResourceVersion
		}
	}
}

// confirm takes the result of a read at a time since Freeze.started. It returns the ConfigMap, or an empty one if it is confirmed that
// none exists. Otherwise it returns an error.
func (a *absence) confirm(read *corev1.ConfigMap, err error, name string, now time.Duration) (*corev1.ConfigMap, error) {
	switch {
	case err == nil:
		*a = absence{existence: present, shown: a.shown, version: read.ResourceVersion}
		return read, nil
	case !apistatus.IsAbsent(err, corev1.Resource("configmaps"), name):
		a.missing = false
		return nil, err
	case a.deleted, a.existence != present && a.unread == "":
		*a = absence{existence: absent}
		return &corev1.ConfigMap{}, nil
	case a.shown:
		return nil, errUnconfirmed
	case !a.missing:
		a.missing, a.missingSince = true, now
	case now-a.missingSince >= absenceTimeout:
		*a = absence{existence: absent}
		return &corev1.ConfigMap{}, nil
	}
	return nil, errUnconfirmed
}
