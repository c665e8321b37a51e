// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// formerFor is how long after its deletion a policy that is created again goes on where the former one ended: the time
// that `kubectl replace --force`, or a tool that does the same, needs by far.
const formerFor = 5 * time.Minute

// formerPolicies remembers policies that were deleted, since their status is the only memory of what is owed. Another process
// does not know them.
type formerPolicies struct {
	mu  sync.Mutex
	all map[types.NamespacedName]formerPolicy
}

// formerPolicy is the last one of a name, and when it was seen to be deleted; zero while it is not.
type formerPolicy struct {
	policy  *autorebootv1.RebootPolicy
	deleted time.Time
}

// record sets the latest policy of a name. It must not be changed afterwards.
func (f *formerPolicies) record(policy *autorebootv1.RebootPolicy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[types.NamespacedName]formerPolicy{}
	}
	f.all[client.ObjectKeyFromObject(policy)] = formerPolicy{policy: policy}
}

// setDeleted notes that the policy of a name was deleted, and drops those that were deleted long ago.
func (f *formerPolicies) setDeleted(key types.NamespacedName, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.all[key]; ok && p.deleted.IsZero() {
		p.deleted = now
		f.all[key] = p
	}
	for key, p := range f.all {
		if p.isOver(now) {
			delete(f.all, key)
		}
	}
}

func (p formerPolicy) isOver(now time.Time) bool {
	return !p.deleted.IsZero() && now.Sub(p.deleted) >= formerFor
}

// statusFor returns the status with which a policy begins that was not decided about yet: what the former policy of its
// name remembered and had in flight. Its halt has ended, as by the annotation. It returns nil where there is nothing.
func (f *formerPolicies) statusFor(policy *autorebootv1.RebootPolicy, now time.Time) *autorebootv1.RebootPolicyStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.all[client.ObjectKeyFromObject(policy)]
	if !ok || policy.Status.ObservedGeneration > 0 || p.policy.UID == policy.UID || p.isOver(now) || len(p.policy.Status.Targets) == 0 {
		return nil
	}
	status := p.policy.Status.DeepCopy()
	status.ObservedGeneration, status.Conditions, status.V1Alpha1 = policy.Status.ObservedGeneration, nil, nil
	if status.Halt != nil {
		status.Halt = nil
		for i := range status.Targets {
			status.Targets[i].Attempts, status.Targets[i].RecentRestarts = 0, nil
		}
	}
	return status
}
