// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

const (
	// actRetry is the wait after an action that failed for now.
	actRetry = time.Second
)

// Ledger holds the disruptions of all kinds.
type Ledger interface {
	Do(h disruption.Holder, group string, f func(disruption.View) []disruption.Claim)
	Restore(h disruption.Holder, group string, claims []disruption.Claim)
	Forget(h disruption.Holder)
}

// Reconciler runs what ChaosPods describe.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// As returns a client that acts as a ServiceAccount, or as the operator where the name is empty.
	As func(namespace, serviceAccount string) (client.Client, error)
	// Events go on ChaosPods, victims and their owners.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Ledger knows what else is disrupted.
	Ledger Ledger
	// Suspicions say whether the network of this process is probably at fault; nil for never.
	Suspicions *probe.Suspicions
	// Freeze knows the blackouts of the whole cluster; nil for none.
	Freeze *freeze.Freeze
	// Denied are namespaces in which no pod is ever killed, and whose writers admission does not ask.
	Denied []string

	enqueuer   *controller.CoalescingEnqueuer
	watchIndex *controller.WatchIndex[*watchSet]
	states     *stateStore
	metrics    *metrics
}

func newReconciler(r Reconciler) *Reconciler {
	r.enqueuer, r.watchIndex, r.states, r.metrics = controller.NewCoalescingEnqueuer(r.Now), &controller.WatchIndex[*watchSet]{}, &stateStore{}, newMetrics()
	r.Freeze.Subscribe(r.enqueueAll)
	r.Suspicions.Subscribe(r.enqueueAll)
	return &r
}

// Reconcile looks at one ChaosPod, decides, and does what may be done now.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	object := &chaosv1.ChaosPod{}
	if err := r.Client.Get(ctx, req.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	again, err := r.reconcile(ctx, object)
	if client.IgnoreNotFound(err) != nil {
		return controller.ResultOf(fmt.Errorf("chaospod %s: %w", req.NamespacedName, err))
	}
	return controller.RequeueAt(r.Now(), again), nil
}

// reconcile goes through the steps, and returns when to do so again.
func (r *Reconciler) reconcile(ctx context.Context, stored *chaosv1.ChaosPod) (time.Time, error) {
	s := r.begin(stored)
	if s.state.lastWrite.NewerThan(stored, s.now) {
		return time.Time{}, controller.ErrStale
	}
	decided, err := r.decide(ctx, s)
	if err != nil {
		return time.Time{}, err
	}
	results, err := r.act(ctx, s, decided)
	if err != nil && len(results) == 0 {
		return time.Time{}, err
	}
	again := decided.RequeueAt
	if len(results) > 0 {
		recorded := chaos.Record(s.stored, results, r.Now())
		if err := r.writeStatus(ctx, s, &recorded); err != nil {
			return time.Time{}, err
		}
		again = controller.Earliest(again, recorded.RequeueAt)
	}
	r.releaseClaims(s, &decided)
	r.metrics.record(s.key, &s.stored.Status)
	return controller.Earliest(s.requeue, again), err
}

// begin takes up a ChaosPod.
func (r *Reconciler) begin(stored *chaosv1.ChaosPod) *observation {
	s := &observation{key: client.ObjectKeyFromObject(stored), now: r.Now(), stored: stored, spec: stored.DeepCopy(), state: r.states.get(stored)}
	rules.Default(s.spec)
	refused := s.state.refused
	switch errs := rules.Validate(s.spec, nil); {
	case len(errs) > 0:
		s.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonInvalidSpec, Message: errs.ToAggregate().Error()}
	case slices.Contains(r.Denied, stored.Namespace):
		s.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden, Message: "no pod of namespace " + stored.Namespace + " is ever killed: it is the operator's own, or that of Kubernetes itself"}
	case !approval.ChaosPodApproved(stored, r.Denied...):
		s.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden, Message: unapproved(stored)}
	case s.now.Before(refused.until):
		s.blockedBy = chaos.Obstacle{Reason: chaosv1.ReasonForbidden, Message: refused.message}
		s.requeueAt(refused.until)
	}
	return s
}

// unapproved says what to do about a ChaosPod of which it is not known whether its writer may do what
// it does.
func unapproved(object *chaosv1.ChaosPod) string {
	if object.Annotations[common.ApprovedByAnnotation] != "" {
		return "annotation " + common.ApprovedByAnnotation + " does not cover the ChaosPod as it is now: it was changed where no admission webhook was called; the next write by a user with the rights to what it does renews it"
	}
	return "no user is known to be entitled to what the ChaosPod does: one who is must write it, or set its annotation " + common.ApprovedByAnnotation + " to any value"
}

// forget ends everything that goes on for a ChaosPod.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.watchIndex.Forget(key)
	r.Ledger.Forget(holderOf(key))
	r.states.drop(key)
	r.metrics.drop(key)
	r.enqueuer.Forget(key)
}
