// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// keepRequest has every trigger be one that cannot be observed, for a target that could not be read.
func (r *run) keepRequest(t *target) {
	t.requested.unobservable = map[string]bool{autorebootv1.RestartNowTrigger: true}
	for i := range r.policy.Spec.Triggers {
		name := r.policy.Spec.Triggers[i].Name
		t.requested.unobservable[name], r.unobservable[name] = true, cmp.Or(r.unobservable[name], autorebootv1.ReasonUnknown)
	}
}

// checkUnread holds a restart of what could not be read: whether it is still needed is not known.
func (r *run) checkUnread(t *target) (admission, bool) {
	return held(autorebootv1.ReasonUnknown, t.workload.Unread), t.workload.Unread != ""
}

// checkUnchecked holds a restart before which something could not be read.
func (r *run) checkUnchecked(t *target) (admission, bool) {
	v := held(autorebootv1.ReasonUnknown, t.workload.Unchecked)
	v.until = r.now.Add(retryInterval)
	return v, t.workload.Unchecked != ""
}
