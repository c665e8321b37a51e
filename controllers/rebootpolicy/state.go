// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/conditiongate"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/promquery"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Reconciler restarts the workloads that RebootPolicies select.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Events are written about policies and workloads.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Sources observe what ConfigChange triggers watch, Probes run Probe triggers, Ledger has the disruptions of all
	// objects, and Key makes fingerprints.
	Sources Sources
	Probes  Probes
	Ledger  *disruption.Ledger
	Key     Fingerprinter
	// Requests sends those of verification.probes.
	Requests Requests
	// Queries asks those of gates; nil where there is no server to ask.
	Queries *promquery.Queries
	// Objects reads those of gates that the cache does not hold; nil where they are not read.
	Objects *conditiongate.Objects
	// Freeze has the blackouts of the whole cluster; nil for none.
	Freeze *freeze.Freeze
	// Actor restarts workloads.
	Actor Actor
	// Kinds has workloads in the cache of the kinds that a cluster need not have; nil where Rollouts are there in any case.
	Kinds *workloadkinds.Watches
	// WithoutNodes reads no nodes: which are lost is not known.
	WithoutNodes bool
	// WebhookExemptNamespaces are namespaces that no admission webhook is called for: nothing is restarted
	// there.
	WebhookExemptNamespaces []string

	enqueuer    *controller.CoalescingEnqueuer
	watchIndex  *controller.WatchIndex[*watchSet]
	podVersions *podCreationVersions
	states      *controller.States[objectState]
	nodes       *nodes
	secrets     *checksecrets.Reader
	former      *formerPolicies
	ownWrites   *controller.OwnWrites
	metrics     *metrics
}

func newReconciler(r Reconciler) *Reconciler {
	if r.enqueuer == nil {
		r.enqueuer = controller.NewCoalescingEnqueuer(r.Now)
	}
	r.watchIndex, r.podVersions = &controller.WatchIndex[*watchSet]{}, &podCreationVersions{}
	r.states, r.metrics, r.ownWrites = &controller.States[objectState]{}, newMetrics(r.Now), &controller.OwnWrites{}
	r.former, r.nodes, r.secrets = &formerPolicies{}, &nodes{}, checksecrets.New(r.Live, r.Now)
	return &r
}

// forget drops what is kept for a policy that is gone, except for what one that is created again goes on with.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.former.setDeleted(key, r.Now())
	r.watchIndex.Forget(key)
	r.Sources.Forget(key)
	r.Probes.Forget(key)
	r.Requests.Set(key, nil, nil)
	r.Queries.Set(key, nil)
	r.Objects.Set(key, nil)
	r.Ledger.Forget(holderOf(key))
	r.states.Forget(key)
	r.ownWrites.Forget(key)
	r.metrics.Drop(key)
	r.enqueuer.Forget(key)
}

// Sources observe ConfigMaps, Secrets and SecretProviderClasses.
type Sources interface {
	// Select returns the sources of a policy's namespace that a selector matches, which may be at most so many.
	Select(
		ctx context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector, most int,
	) ([]sources.Ref, error)
	// Observe returns the states of all sources of a policy, in the order of wants.
	Observe(ctx context.Context, by types.NamespacedName, wants []sources.Want) ([]sources.State, error)
	// Forget drops the sources of a policy.
	Forget(by types.NamespacedName)
}

// Probes run the checks of Probe triggers.
type Probes interface {
	// Set sets what is checked for a policy.
	Set(policy types.NamespacedName, wants []podprobe.Want)
	// Result returns the result of a trigger for a workload.
	Result(policy types.NamespacedName, trigger string, workload types.UID) podprobe.Result
	// IsSuspect reports whether failures of some check of a policy decide nothing now.
	IsSuspect(policy types.NamespacedName) bool
	// Forget drops the checks of a policy.
	Forget(policy types.NamespacedName)
}

// Requests sends the requests of verification.probes.
type Requests interface {
	// Set sets the requests that are sent for the restarts in flight of a policy.
	Set(policy types.NamespacedName, wants []clientprobe.Want, restarts []clientprobe.Disruption)
	// Requests returns those that are counted for a restart.
	Requests(policy types.NamespacedName, restart string) []requestcount.Requests
}

// Fingerprinter makes fingerprints that reveal nothing without the key of the installation.
type Fingerprinter interface {
	Sum(domain string, parts ...[]byte) string
}

// Actor restarts workloads.
type Actor interface {
	// Do runs one action for a policy. The error is for the log.
	Do(ctx context.Context, policy *autorebootv1.RebootPolicy, action restart.Action, version string) (restart.Result, error)
}

var (
	_ Sources       = (*sources.Sources)(nil)
	_ Probes        = (*podprobe.Checks)(nil)
	_ Requests      = (*clientprobe.Sender)(nil)
	_ Fingerprinter = (*fingerprint.Key)(nil)
)

// objectState is the in-memory state of one policy. Losing it causes no additional restart and no missing one.
type objectState struct {
	calendar *calendarSpec
	// stable has the addresses that EndpointsChange triggers have seen, by trigger and source. The spec bounds its size.
	stable map[string]stableFingerprint
	// disrupted are the workloads that other objects disrupted at the last decision.
	disrupted map[types.UID]bool
	// absent are pods that the cache has and the API server has not, and until when they count as absent.
	absent map[types.UID]time.Time
	// unrecorded are results of actions that the next reconcile records.
	unrecorded []restart.Result
	// clockSkew is a message about times of the status that were in the future, as long as anything waits.
	clockSkew string
	// kindsUnknownSince is the time from which the API server has not confirmed that it serves the kinds of all targets.
	kindsUnknownSince time.Time
	// readFailures is how many reconciles in a row could not read something, and readSince are the workloads that can be read again,
	// since when, or zero while they cannot.
	readFailures int
	readSince    map[types.UID]time.Time
	// lastWrite is the last write of the status, and writeTook is its duration.
	lastWrite controller.LastWrite
	writeTook time.Duration

	refusedStatus controller.RefusedStatus
}

// requestAnnotations are those by which a user requests something, or is approved.
func requestAnnotations() []string {
	return []string{autorebootv1.RestartNowAnnotation, autorebootv1.RetryAnnotation, autorebootv1.ApproveAnnotation,
		autorebootv1.OnInjectedFaultAnnotation, common.ApprovedByAnnotation}
}

// stateOf returns the state of a policy, without what an earlier spec left there.
func (r *Reconciler) stateOf(policy *autorebootv1.RebootPolicy) *objectState {
	s := r.states.Get(policy)
	if s.calendar == nil || s.calendar.generation != policy.Generation {
		s.calendar, s.stable = parseCalendar(policy), map[string]stableFingerprint{}
	}
	s.forgetAbsent(r.Now())
	return s
}

// readRetry is the wait until what could not be read is read again.
func (s *objectState) readRetry() time.Duration {
	return min(readRetry<<min(max(s.readFailures-1, 0), 10), maxReadRetry)
}

// trackUnread sets since when each workload can be read again, where that was within the last hour.
func (s *objectState) trackUnread(o *observation) {
	was := s.readSince
	s.readSince = map[types.UID]time.Time{}
	for _, w := range o.unread {
		s.readSince[w.UID] = time.Time{}
	}
	for _, w := range o.workloads {
		since, ok := was[w.UID]
		if ok && since.IsZero() {
			since = o.now
		}
		if ok && o.now.Sub(since) < time.Hour {
			s.readSince[w.UID], w.ReadSince = since, since
		}
	}
}

// setAbsent has a pod count as absent until a time.
func (s *objectState) setAbsent(pod types.UID, until time.Time) {
	if s.absent == nil {
		s.absent = map[types.UID]time.Time{}
	}
	s.absent[pod] = until
}

// forgetAbsent drops what has lasted long enough.
func (s *objectState) forgetAbsent(now time.Time) {
	maps.DeleteFunc(s.absent, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
}

// counts reports whether triggers that fire for the state of pods look at a pod.
func (s *objectState) counts(p *restart.Pod) bool {
	_, absent := s.absent[p.UID]
	return !absent && !p.Terminating
}

// stableFingerprint holds the fingerprints of addresses that a trigger has seen: the ones that count, and the latest.
type stableFingerprint struct {
	stable, latest string
	since          time.Time // of latest
	counts         time.Time // since when stable counts
}

// calendarSpec holds the schedules and windows of a spec, parsed once per generation.
type calendarSpec struct {
	generation int64
	calendar   *cron.Calendar
	broken     bool
	// schedules of the Schedule triggers, by name. One that cannot be parsed is nil.
	schedules map[string]*cron.Schedule
}

func parseCalendar(policy *autorebootv1.RebootPolicy) *calendarSpec {
	t := &calendarSpec{generation: policy.Generation, schedules: map[string]*cron.Schedule{}}
	var err error
	t.calendar, err = cron.NewCalendar(&policy.Spec.Calendar)
	t.broken = err != nil
	for i := range policy.Spec.Triggers {
		trigger := &policy.Spec.Triggers[i]
		if trigger.Schedule == nil {
			continue
		}
		parsed, err := cron.Parse(trigger.Schedule.Cron, trigger.Schedule.TimeZone)
		if err != nil {
			parsed = nil
		}
		t.schedules[trigger.Name] = parsed
	}
	return t
}

// at returns what windows and blackouts say, those of the cluster included, and until when.
func (s *calendarSpec) at(now time.Time, cluster freeze.State) (c restart.Calendar, until time.Time) {
	message := cluster.Message(now)
	if cluster.Unknown != "" || s.broken {
		return restart.Calendar{Broken: true, Cluster: message}, cluster.Blackouts.At(now).Until
	}
	calendar := s.calendar.And(cluster.Blackouts)
	moment, open := calendar.At(now), calendar.NextOpen(now)
	c = restart.Calendar{
		Window: moment.Window, Blackout: moment.Blackout, Cluster: message,
		NextOpen: open, NextWindow: calendar.Window(open), BlackoutEnds: calendar.NextOutsideBlackout(now),
	}
	return c, moment.Until
}

func holderOf(key types.NamespacedName) disruption.Holder {
	return disruption.Holder{Kind: disruption.RebootPolicy, NamespacedName: key}
}
