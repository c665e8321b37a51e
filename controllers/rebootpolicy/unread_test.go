// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// twoTargets are two Deployments, which restart one after the other.
const twoTargets = `
targets: [{kind: Deployment, name: api}, {kind: Deployment, name: db}]
triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds}]}}]
debounce: {quietPeriod: 15s}
verification: {soak: 10s}
cooldown: 0s
`

// reading fails the reads that a test names, each as `get Deployment db` or `list Pods uid-db`.
type reading struct {
	fails string
	count int
}

func (r *reading) check(call string) error {
	if r.fails == "" || !strings.HasPrefix(call, r.fails) {
		return nil
	}
	r.count++
	return errors.New("etcdserver: request timed out")
}

// failReads has reads fail from now on, of the cache and of the API server.
func (s *suite) failReads(r *reading) {
	s.Helper()
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		SubResourceUpdate: s.updates,
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if err := r.check(fmt.Sprintf("get %s %s", strings.TrimPrefix(fmt.Sprintf("%T", into), "*v1."), key.Name)); err != nil {
				return err
			}
			return s.cached(ctx, c, key, into, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
			if err := r.check(listCall(into, opts)); err != nil {
				return err
			}
			return c.List(ctx, into, opts...)
		},
	})
	s.Live = interceptor.NewClient(s.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if err := r.check("live get " + into.GetObjectKind().GroupVersionKind().Kind + " " + key.Name); err != nil {
				return err
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
}

func listCall(into client.ObjectList, opts []client.ListOption) string {
	kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", into), "*v1."), "List")
	if gvk := into.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
		kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	owner := ""
	if o.FieldSelector != nil {
		owner, _ = o.FieldSelector.RequiresExactMatch(workloads.ByOwner)
	}
	return strings.TrimSpace("list " + kind + " " + owner)
}

// needing has the pods of a Deployment need a Secret.
func needing(secret string, objects []client.Object) []client.Object {
	for _, object := range objects {
		if d, is := object.(*appsv1.Deployment); is {
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", EnvFrom: []corev1.EnvFromSource{
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}},
			}}}
		}
	}
	return objects
}

// Whatever cannot be read of one workload, another one is restarted meanwhile, and verified; the one is restarted once it can be.
func TestWhatCannotBeReadHoldsWhatNeedsItAlone(t *testing.T) {
	for fails, holds := range map[string]string{
		"get Deployment db":    "db",
		"list Pod uid-db":      "db", // whether it has some itself is not known
		"list Pod rs-uid-db":   "db",
		"list ReplicaSet uid-": "api db",
		"list Pod rs-uid-api":  "api",
		"live get Secret db-":  "db",
		"list ChaosPod":        "",
		"get Deployment":       "api db",
	} {
		t.Run(fails, func(t *testing.T) {
			objects := append(deployment("api", 1, nil), needing("db-key", deployment("db", 1, nil))...)
			objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-key"}})
			s := newSuite(t, twoTargets, objects...)
			r := &reading{}
			s.failReads(r)
			s.reconcile()
			before := s.object().Status.Targets
			s.changeSource("Secret/creds", "hmac:2")
			r.fails = fails
			s.passTime()
			if len(holds) > 0 && r.count == 0 {
				t.Error("nothing was read")
			}
			for i, name := range []string{"api", "db"} {
				restarted := strings.Contains(strings.Join(s.doer.done, "\n"), "Annotate "+name)
				if held := strings.Contains(holds, name); held == restarted {
					t.Errorf("%s is restarted: %t", name, restarted)
				} else if after := s.object().Status.Targets; held && !equality.Semantic.DeepEqual(before[i].Baselines, after[i].Baselines) {
					t.Errorf("the baselines of %s are %v, and were %v", name, after[i].Baselines, before[i].Baselines)
				}
			}
			if holds != "" {
				said := ""
				for _, c := range s.object().Status.Conditions {
					if c.Reason == autorebootv1.ReasonUnknown {
						said += c.Type + "=" + string(c.Status) + " " + c.Message + "\n"
					}
				}
				if !strings.Contains(said, "cannot be read") {
					t.Errorf("conditions say %q", said)
				}
			}
			r.fails = ""
			s.passTime()
			for _, name := range []string{"api", "db"} {
				if n := strings.Count(strings.Join(s.doer.done, "\n"), "Annotate "+name); n != 1 {
					t.Errorf("%s was restarted %d times:\n%s", name, n, strings.Join(s.all, "\n"))
				}
			}
			s.expectCondition(autorebootv1.ConditionReady, "True Watching")
			s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
		})
	}
}

// passTime has three minutes pass, in which what is rolled out is replaced.
func (s *suite) passTime() {
	s.Helper()
	for range 12 {
		s.reconcile()
		s.advance(16 * time.Second)
		for _, f := range s.object().Status.InFlight {
			if f.Phase == autorebootv1.PhaseRollingOut {
				s.completeRollout(f.Name)
			}
		}
	}
}

// A restart in flight neither succeeds nor fails while nothing is known of it, also beyond its timeout.
func TestARestartInFlightThatCannotBeReadGoesOnAfterwards(t *testing.T) {
	for _, fails := range []string{"get Deployment api", "list Pod rs-uid-api", "list ReplicaSet"} {
		s := newSuite(t, strings.Replace(config, "soak: 10s", "soak: 10s, timeout: 1m", 1), deployment("api", 1, nil)...)
		r := &reading{}
		s.failReads(r)
		s.reconcile()
		s.changeSource("Secret/creds", "hmac:2")
		s.reconcile()
		s.advance(16 * time.Second)
		s.reconcile()
		s.advance(time.Second)
		s.reconcile()
		s.expectActions("Annotate api " + theRestart)
		s.completeRollout("api")
		r.fails = fails
		for range 5 {
			s.advance(time.Minute)
			if result := s.reconcile(); result.RequeueAfter <= 0 || result.RequeueAfter > maxReadRetry {
				t.Errorf("%s: looks again after %s", fails, result.RequeueAfter)
			}
		}
		s.expectNoWrite("nothing is known that was not")
		s.expectCondition(autorebootv1.ConditionReady, "Unknown Unknown")
		s.expectCondition(autorebootv1.ConditionProgressing, "True RollingOut")
		s.expectCondition(autorebootv1.ConditionVerified, "Unknown NoRestart")
		if held := len(s.ledger.Snapshot().Held); held != 1 {
			t.Errorf("%s: the ledger holds %d", fails, held)
		}
		r.fails = ""
		s.reconcile()
		s.advance(11 * time.Second)
		s.reconcile()
		s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
		s.expectActions()
	}
}

// What all workloads of a policy need holds all.
func TestWhatAllNeedHoldsAll(t *testing.T) {
	s := newSuite(t, config, deployment("api", 1, nil)...)
	s.reconcile()
	s.content.unread = errors.New("not started")
	s.changeSource("Secret/creds", "hmac:2")
	for range 4 {
		s.advance(16 * time.Second)
		s.reconcile()
	}
	s.expectActions()
	s.expectCondition(autorebootv1.ConditionReady, "Unknown Unknown")
	s.content.unread = nil
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionReady, "True Watching")
}

// newBlockedSuite has a ChaosPod that has found that a budget blocks the evictions of the target.
func newBlockedSuite(t *testing.T) (*suite, *reading) {
	t.Helper()
	found := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}}
	found.Status.Blocked = []chaosv1.BlockedWorkload{{VictimOwner: chaosv1.VictimOwner{Kind: "Deployment", Name: "api", UID: "uid-api"}, Ready: 2, BlockedBy: "pdb"}}
	s, r := newSuite(t, config+"strategy: {type: Evict}\n", append(deployment("api", 2, nil), found)...), &reading{}
	s.failReads(r)
	return s, r
}

// Whether a disruption budget blocks is as it was while the ChaosPods that found it cannot be read.
func TestWhatABudgetBlocksStaysWhileItCannotBeRead(t *testing.T) {
	s, r := newBlockedSuite(t)
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionDisruptionBudgetBlocks, "True NoDisruptionsAllowed")
	r.fails = "list ChaosPod"
	s.expectNoWrite("it is unknown again")
	s.must(s.store.Delete(t.Context(), &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}}))
	r.fails = ""
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionDisruptionBudgetBlocks, "False NotObserved")
}

// Where another RebootPolicy may go before one of a ClusterRebootPolicy, nothing is restarted until that is known.
func TestAPolicyThatMayYieldWaitsUntilThatIsKnown(t *testing.T) {
	s := newSuite(t, config, deployment("api", 1, nil)...)
	s.edit(func(p *autorebootv1.RebootPolicy) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: autorebootv1.GroupVersion.String(), Kind: "ClusterRebootPolicy", Name: "all", UID: types.UID("u"), Controller: ptr.To(true)}}
	})
	r := &reading{}
	s.failReads(r)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	r.fails = "list RebootPolicy"
	for range 4 {
		s.advance(16 * time.Second)
		s.reconcile()
	}
	if s.expectActions(); r.count == 0 {
		t.Error("no RebootPolicies were listed")
	}
	r.fails = ""
	s.reconcile()
	s.advance(16 * time.Second)
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
}

// Pods that are known are checked, and the checks of those that are not known go on as they are.
func TestChecksOfWhatCannotBeReadGoOn(t *testing.T) {
	objects := append(deployment("api", 1, nil), deployment("db", 1, nil)...)
	s := newSuite(t, `
targets: [{kind: Deployment, name: api}, {kind: Deployment, name: db}]
triggers: [{name: wedged, type: Probe, probe: {tcpSocket: {port: 80}}}]
cooldown: 10m
`, objects...)
	s.failReads(&reading{fails: "list Pod rs-uid-db"})
	s.observe()
	var known, kept []types.UID
	for _, want := range s.checks.wants {
		if want.Kept {
			kept = append(kept, want.Workload)
		} else if len(want.Pods) == 1 {
			known = append(known, want.Workload)
		}
	}
	if len(s.checks.wants) != 2 || !slices.Equal(known, []types.UID{"uid-api"}) || !slices.Equal(kept, []types.UID{"uid-db"}) {
		t.Errorf("checks %+v", s.checks.wants)
	}
}

// A request to restart is done once each target was restarted, also one that could not be read meanwhile.
func TestARequestIsVerifiedOnceAllWereRestarted(t *testing.T) {
	s := newSuite(t, twoTargets, append(deployment("api", 1, nil), deployment("db", 1, nil)...)...)
	r := &reading{}
	s.failReads(r)
	s.reconcile()
	r.fails = "get Deployment db"
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Annotations[autorebootv1.RestartNowAnnotation] = "now" })
	s.passTime()
	s.expectActions("Annotate api " + theRestart)
	s.expectCondition(autorebootv1.ConditionVerified, "True StayedAvailable")
	if verified := s.object().Status.VerifiedRestartNow; verified != "" {
		t.Errorf("%q is verified, and db was not restarted", verified)
	}
	r.fails = ""
	s.passTime()
	s.expectActions("Annotate db abcdef01-2")
	if verified := s.object().Status.VerifiedRestartNow; verified != "now" {
		t.Errorf("%q is verified", verified)
	}
}

// What cannot be read has its wave: it holds those of higher ones, and none of lower ones.
func TestWhatCannotBeReadHasItsWave(t *testing.T) {
	for name, waits := range map[string]bool{"api": true, "db": false} {
		spec := strings.Replace(twoTargets, "name: db}", "name: db, wave: 1}", 1) // after api
		s := newSuite(t, spec, append(deployment("api", 1, nil), deployment("db", 1, nil)...)...)
		r := &reading{}
		s.failReads(r)
		s.reconcile()
		s.changeSource("Secret/creds", "hmac:2")
		s.reconcile()
		r.fails = "get Deployment " + name
		s.passTime()
		if restarted := len(s.doer.done) > 0; restarted == waits {
			t.Errorf("without %s: did %q", name, s.doer.done)
		}
		r.fails = ""
		s.passTime()
		if len(s.doer.done) != 2 || !strings.HasPrefix(s.doer.done[0], "Annotate api") {
			t.Errorf("%s: did %q", name, s.doer.done)
		}
	}
}

// A target that is not in the status yet is not taken for one that does not exist, nor for one that is watched.
func TestATargetThatWasNeverReadIsUnknown(t *testing.T) {
	for _, target := range []string{"{kind: Deployment, name: api}", "{kind: Deployment, selector: {matchLabels: {app: api}}}"} {
		s := newSuite(t, strings.Replace(config, "{kind: Deployment, name: api}", target, 1), deployment("api", 1, map[string]string{"app": "api"})...)
		r := &reading{fails: "get Deployment"}
		if strings.Contains(target, "selector") {
			r.fails = "list Deployment"
		}
		s.failReads(r)
		s.reconcile()
		s.expectCondition(autorebootv1.ConditionReady, "Unknown Unknown")
		if r.fails = ""; r.count == 0 {
			t.Error("nothing was read")
		}
		s.reconcile()
		s.expectCondition(autorebootv1.ConditionReady, "True Watching")
	}
}

// Whether a disruption budget blocks a workload that cannot be read is as it was.
func TestABudgetOfWhatCannotBeReadStays(t *testing.T) {
	s, r := newBlockedSuite(t)
	s.reconcile()
	r.fails = "get Deployment"
	s.reconcile()
	s.expectCondition(autorebootv1.ConditionDisruptionBudgetBlocks, "True NoDisruptionsAllowed")
}

// What one Rollout refers to holds no other.
func TestARolloutWhoseTemplateCannotBeReadHoldsNoOther(t *testing.T) {
	spec := `
targets: [{group: argoproj.io, kind: Rollout, selector: {matchLabels: {team: a}}}]
triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds}]}}]
`
	rollout := func(name string) *argorollouts.Rollout {
		return &argorollouts.Rollout{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"team": "a"}},
			Spec: argorollouts.Spec{
				WorkloadRef: &argorollouts.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			},
		}
	}
	s := newSuite(t, spec, append(append(deployment("a", 0, nil), deployment("b", 0, nil)...), rollout("a"), rollout("b"))...)
	r := &reading{}
	s.failReads(r)
	s.reconcile()
	r.fails = "get Deployment b"
	seen := s.observe()
	if names(seen.workloads) != "0 a" || names(seen.unread) != "0 b" || r.count == 0 {
		t.Errorf("read %s, and not %s: %v", names(seen.workloads), names(seen.unread), seen.problems)
	}
}

// The wait for what cannot be read becomes longer, and ends with the failure.
func TestReadsAreTriedLessOften(t *testing.T) {
	for _, fails := range []string{"get Deployment api", "live get Secret key"} { // of what is observed, and just before a restart
		objects := append(needing("key", deployment("api", 1, nil)), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "key"}})
		s := newSuite(t, config, objects...)
		r := &reading{}
		s.failReads(r)
		s.reconcile()
		s.changeSource("Secret/creds", "hmac:2")
		s.reconcile()
		s.advance(16 * time.Second)
		r.fails = fails
		var waits []time.Duration
		for range 6 {
			waits = append(waits, s.reconcile().RequeueAfter)
		}
		if got := fmt.Sprint(waits); got != "[5s 10s 20s 40s 1m0s 1m0s]" {
			t.Errorf("%s: waits %s", fails, got)
		}
		r.fails = ""
		s.reconcile()
		if s.stateOf(s.object()).readFailures != 0 {
			t.Errorf("%s: the failures go on", fails)
		}
	}
}
