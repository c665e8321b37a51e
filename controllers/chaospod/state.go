// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Reconciler runs what ChaosPods describe.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// As returns a client that acts as a ServiceAccount, or as the operator where the name is empty.
	As func(ctx context.Context, namespace, serviceAccount string) (client.Client, error)
	// Events are written about ChaosPods, victims and their owners.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Ledger has what else is disrupted.
	Ledger *disruption.Ledger
	// Suspicions report whether the network of this process is probably at fault; nil for never.
	Suspicions *probe.Suspicions
	// Requests sends those of verification.probes.
	Requests Requests
	// Freeze has the blackouts of the whole cluster; nil for none.
	Freeze *freeze.Freeze
	// Denied are namespaces in which no pod is ever killed, and for which no admission webhook is called.
	Denied []string
	// WithoutNodes reads no nodes: none counts as cordoned.
	WithoutNodes bool
	// WithoutCanaries makes no pods from templates.
	WithoutCanaries bool

	enqueuer   *controller.CoalescingEnqueuer
	watchIndex *controller.WatchIndex[*watchSet]
	states     *controller.States[objectState]
	ownWrites  *controller.OwnWrites
	deaths     *deaths
	secrets    *checksecrets.Reader
	metrics    *metrics
}

// Requests sends the requests of verification.probes.
type Requests interface {
	// Set sets the requests that are sent for the run of a ChaosPod.
	Set(chaosPod types.NamespacedName, wants []clientprobe.Want, runs []clientprobe.Disruption)
	// Requests returns those that are counted for a run.
	Requests(chaosPod types.NamespacedName, run string) []requestcount.Requests
}

var _ Requests = (*clientprobe.Sender)(nil)

func newReconciler(r Reconciler) *Reconciler {
	if r.enqueuer == nil {
		r.enqueuer = controller.NewCoalescingEnqueuer(r.Now)
	}
	r.watchIndex = &controller.WatchIndex[*watchSet]{}
	r.states, r.metrics, r.ownWrites = &controller.States[objectState]{}, newMetrics(), &controller.OwnWrites{}
	r.deaths, r.secrets = &deaths{}, checksecrets.New(r.Live, r.Now)
	enqueueAll := func() { r.watchIndex.EnqueueAll(r.enqueuer) }
	r.Freeze.Subscribe(enqueueAll)
	r.Suspicions.Subscribe(enqueueAll)
	return &r
}

// forget drops everything that is kept for a ChaosPod.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.watchIndex.Forget(key)
	r.Requests.Set(key, nil, nil)
	r.Ledger.Forget(holderOf(key))
	r.states.Forget(key)
	r.ownWrites.Forget(key)
	r.metrics.Drop(key)
	r.enqueuer.Forget(key)
}

// observation holds the state that one reconcile reads and derives for a ChaosPod.
type observation struct {
	key types.NamespacedName
	now time.Time
	// stored is the ChaosPod as it was read or written last, and spec the same with defaults.
	stored, spec *chaosv1.ChaosPod
	state        *objectState
	// blockedBy is why nothing may be done; zero for a ChaosPod that is valid, approved and not refused.
	blockedBy chaos.Obstacle
	// refused is why an action was refused that may be tried again by now.
	refused chaos.Obstacle
	// withoutProbes means that no request may be sent.
	withoutProbes bool
	// begun is the ID of the run that was under way when the ChaosPod was read; empty for none.
	begun string
	// blackoutsUnknown means that the blackouts of the cluster are not known: nothing is killed.
	blackoutsUnknown bool
	// confirmed means that stored is what the API server has: it was just written, or read from there.
	confirmed bool
	// requeue is when to reconcile again, besides that of the decision.
	requeue time.Time
}

func (o *observation) requeueAt(at time.Time) { o.requeue = controller.Earliest(o.requeue, at) }

// objectState is the in-memory state of one ChaosPod. Losing it causes no additional kill.
type objectState struct {
	generation int64
	schedule   *chaos.Schedule
	// refused is an action that is forbidden, for the reason refusedReason. It is tried again at once when the spec
	// changes or one of the values in requested.
	refused       controller.Refusal
	refusedReason string
	requested     []string
	lastWrite     controller.LastWrite
	// seen is the status as it was stored or read last; nil before the first reconcile.
	seen          *chaosv1.ChaosPodStatus
	refusedStatus controller.RefusedStatus
}

// requestAnnotations are those by which a user requests something, or is approved.
func requestAnnotations() []string {
	return []string{chaosv1.RunNowAnnotation, chaosv1.RetryAnnotation, common.ApprovedByAnnotation}
}

// stateOf returns the state of a ChaosPod, without what an earlier spec or request left there.
func (r *Reconciler) stateOf(object *chaosv1.ChaosPod) *objectState {
	s := r.states.Get(object)
	requested := controller.AnnotationValues(object, requestAnnotations())
	newSpec := s.schedule == nil || s.generation != object.Generation
	if newSpec {
		s.generation, s.schedule = object.Generation, chaos.ScheduleOf(object)
	}
	if newSpec || !slices.Equal(requested, s.requested) {
		s.requested, s.refused = requested, controller.Refusal{}
	}
	return s
}

// watchSet lists the objects of its namespace that one ChaosPod watches.
type watchSet struct {
	workloads map[workloadName]bool
	// owners are the workloads and ReplicaSets whose pods the ChaosPod reads.
	owners map[types.UID]bool
	// selector of the target; nil where it has none.
	selector labels.Selector
	// pod is the canary's name; empty for other targets.
	pod string
}

func (w *watchSet) matchesPod(p *corev1.Pod) bool {
	return w.pod != "" && p.Name == w.pod || w.owners[workloads.ControllerOf(p)] ||
		w.selector != nil && w.selector.Matches(labels.Set(p.Labels))
}

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

// restore returns object with the deaths of the deleted ChaosPod of its name, if object was not reconciled yet. It returns any
// other object unchanged.
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

func holderOf(key types.NamespacedName) disruption.Holder {
	return disruption.Holder{Kind: disruption.ChaosPod, NamespacedName: key}
}
