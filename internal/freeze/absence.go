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

// existence is what is known of the ConfigMap.
type existence int

const (
	unknown existence = iota // neither was it read, nor is it known not to exist
	absent
	present
)

// errUnconfirmed is returned for a ConfigMap that one read does not find.
var errUnconfirmed = errors.New("the API server says that it does not exist, but no watch has shown that it was deleted")

// absence decides whether the ConfigMap is absent. One read does not: a load balancer may have sent it elsewhere. No number
// of reads does while a watch shows the ConfigMap.
type absence struct {
	existence existence
	shown     bool          // by the watch that runs
	deleted   bool          // as the watch has shown last
	denied    bool          // by each read since
	since     time.Duration // of the first of these
	version   string        // that was read
	unread    string        // the version that the watch has shown and that was not read
}

// observe takes over an event of the watch. An empty one is its start or its end.
func (a *absence) observe(event watch.Event) {
	switch event.Type {
	case "":
		a.shown = false
	case watch.Deleted:
		a.shown, a.deleted = false, true
	case watch.Added, watch.Modified:
		a.shown, a.deleted, a.denied = true, false, false
		if shown, ok := event.Object.(*corev1.ConfigMap); ok && shown.ResourceVersion != a.version {
			a.unread = shown.ResourceVersion
		}
	}
}

// judge returns the ConfigMap that was read, an empty one where it is known not to exist, and otherwise why nothing is
// known now.
func (a *absence) judge(read *corev1.ConfigMap, err error, name string, now time.Duration) (*corev1.ConfigMap, error) {
	switch {
	case err == nil:
		*a = absence{existence: present, shown: a.shown, version: read.ResourceVersion}
		return read, nil
	case !apistatus.IsAbsent(err, corev1.Resource("configmaps"), name):
		a.denied = false
		return nil, err
	case a.deleted, a.existence != present && a.unread == "":
		*a = absence{existence: absent}
		return &corev1.ConfigMap{}, nil
	case a.shown:
		return nil, errUnconfirmed
	case !a.denied:
		a.denied, a.since = true, now
	case now-a.since >= absenceTimeout:
		*a = absence{existence: absent}
		return &corev1.ConfigMap{}, nil
	}
	return nil, errUnconfirmed
}
