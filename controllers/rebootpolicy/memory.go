// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// formerFor is how long a deleted policy's status is kept for a policy that is created again under its name. `kubectl replace
// --force`, or a similar tool, needs far less.
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

// statusFor returns the initial status of a policy that was not decided about yet: what the deleted policy of its name
// remembered and had in flight. A halt is cleared, as by the annotation. It returns nil if there is nothing to restore.
func (f *formerPolicies) statusFor(policy *autorebootv1.RebootPolicy, now time.Time) *autorebootv1.RebootPolicyStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.all[client.ObjectKeyFromObject(policy)]
	if !ok || policy.Status.ObservedGeneration > 0 || p.policy.UID == policy.UID || p.isOver(now) || len(p.policy.Status.Targets) == 0 {
		return nil
	}
	status := p.policy.Status.DeepCopy()
	status.ObservedGeneration, status.Conditions = policy.Status.ObservedGeneration, nil
	if status.Halt != nil {
		status.Halt = nil
		for i := range status.Targets {
			status.Targets[i].Attempts, status.Targets[i].RecentRestartTimes = 0, nil
		}
	}
	return status
}

// nodeInterval is how long what was read of a node counts, and how often pods that are late are looked at again.
const nodeInterval = 30 * time.Second

// nodes remembers what was read of nodes.
type nodes struct {
	mu    sync.Mutex
	known map[string]nodeRead
}

type nodeRead struct {
	why string
	at  time.Time
}

func (n *nodes) get(name string, now time.Time) (why string, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read, found := n.known[name]
	return read.why, found && now.Sub(read.at).Abs() < nodeInterval
}

// set records what was read, and forgets what is too old to count.
func (n *nodes) set(name, why string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := map[string]nodeRead{name: {why, now}}
	for other, read := range n.known {
		if other != name && now.Sub(read.at).Abs() < nodeInterval {
			kept[other] = read
		}
	}
	n.known = kept
}

// podCreationVersions holds the resourceVersion at which each pod was created, in namespaces with a policy. A
// creationTimestamp has whole seconds: it does not tell whether a pod was created before or after a Secret that
// was written in the same second, as one helm upgrade does.
//
// For a pod whose creation was not observed, the API server is asked whether it existed at the version of the
// Secret.
type podCreationVersions struct {
	mu  sync.RWMutex
	all map[types.UID]podVersions
}

// podVersions holds resourceVersions around the creation of a pod: the one of its creation, one at which it did not exist, and
// one at which it did. checked are those that the API server was asked about. All are empty at first.
type podVersions struct {
	created, absent, present string
	checked                  []string
}

// setExisted notes whether the pod existed at a version: the last one at which it did not, and the first at which it did.
func (p *podVersions) setExisted(version string, existed bool) {
	isBefore := func(a, b string) bool {
		order, err := resourceversion.CompareResourceVersion(a, b)
		return err == nil && order < 0
	}
	switch {
	case existed && (p.present == "" || isBefore(version, p.present)):
		p.present = version
	case !existed && (p.absent == "" || isBefore(p.absent, version)):
		p.absent = version
	}
}

func (v *podCreationVersions) get(pod types.UID) podVersions {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.all[pod]
}

func (v *podCreationVersions) update(pod types.UID, change func(*podVersions)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[types.UID]podVersions{}
	}
	known := v.all[pod]
	change(&known)
	v.all[pod] = known
}

func (v *podCreationVersions) forget(pod types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, pod)
}

// recordThen records creations and deletions before another handler is called.
func (v *podCreationVersions) recordThen(
	index *controller.WatchIndex[*watchSet], then handler.TypedEventHandler[*corev1.Pod, reconcile.Request],
) handler.TypedEventHandler[*corev1.Pod, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			if isJustCreated(e) && index.Any(e.Object.Namespace) {
				v.update(e.Object.UID, func(p *podVersions) { p.created = e.Object.ResourceVersion })
			}
			then.Create(ctx, e, q)
		},
		UpdateFunc: then.Update,
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			v.forget(e.Object.UID)
			then.Delete(ctx, e, q)
		},
	}
}

// isJustCreated reports whether an event shows a pod as it was created: any later change sets a condition.
func isJustCreated(e event.TypedCreateEvent[*corev1.Pod]) bool {
	return !e.IsInInitialList && len(e.Object.Status.Conditions) == 0 && e.Object.DeletionTimestamp.IsZero()
}
