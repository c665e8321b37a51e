// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/eviction"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// fakeAPI is an API server that answers err, and keeps what it was sent.
type fakeAPI struct {
	err     error
	applied []byte
	options client.ApplyOptions
	evicted *policyv1.Eviction
	as      string
	drops   bool // all fields of the spec
	// all are those that were applied, and owners by whom.
	all, owners []string
}

func (f *fakeAPI) actor() *actor {
	api := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, given runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			f.options.ApplyOptions(opts)
			var err error
			if f.applied, err = json.Marshal(given); err != nil || f.err != nil {
				return errors.Join(err, f.err)
			}
			f.all, f.owners = append(f.all, string(f.applied)), append(f.owners, f.options.FieldManager)
			var stored map[string]any
			if err := json.Unmarshal(f.applied, &stored); err != nil {
				return err
			}
			stored["metadata"].(map[string]any)["generation"] = 7
			if f.drops {
				delete(stored, "spec")
			}
			answer, err := json.Marshal(stored)
			return errors.Join(err, json.Unmarshal(answer, given))
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, sub string, o, body client.Object, _ ...client.SubResourceCreateOption) error {
			if _, ok := o.(*corev1.Pod); ok && sub == "eviction" {
				f.evicted, _ = body.(*policyv1.Eviction)
			}
			return f.err
		},
	})
	return &actor{as: func(_ context.Context, namespace, account string) (client.Client, error) {
		f.as = namespace + "/" + account
		return api, nil
	}}
}

func actingPolicy(account string) *autorebootv1.RebootPolicy {
	return &autorebootv1.RebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments"}, Spec: autorebootv1.RebootPolicySpec{ServiceAccountName: account},
	}
}

// A workload of another project has the two annotations at the path of the configuration. A CRD that drops them is found out.
func TestAnnotateWritesThePodTemplateOfAConfiguredKind(t *testing.T) {
	kind := workloadkinds.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"}, Template: []string{"spec", "pods", "template"},
	}
	action := restart.Action{Verb: restart.Annotate, ID: "x-1", Started: epoch, Workload: &restart.Workload{Workload: workloads.Workload{Kind: kind.Name(), Name: "api", UID: "u"}}}
	w := &fakeAPI{}
	a := w.actor()
	a.kinds = []workloadkinds.Kind{kind}
	result, err := a.Do(t.Context(), actingPolicy(""), action, "41")
	if err != nil || result != (restart.Result{Action: action, Outcome: restart.Done, Generation: 7}) {
		t.Errorf("result %+v, error %v", result, err)
	}
	want := `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"api","namespace":"shop","resourceVersion":"41","uid":"u"},` +
		`"spec":{"pods":{"template":{"metadata":{"annotations":{"autoreboot.fairlead.dev/restart-id":"x-1","kubectl.kubernetes.io/restartedAt":"` + epoch.UTC().Format(time.RFC3339) + `"}}}}}}`
	if diff := cmp.Diff(want, string(w.applied)); diff != "" || w.options.FieldManager != restartOwner {
		t.Errorf("by %s (-want +got):\n%s", w.options.FieldManager, diff)
	}

	w.drops = true
	result, err = a.Do(t.Context(), actingPolicy(""), action, "41")
	const dropped = "the API server drops annotations at spec.pods.template, which the CRD must keep: set x-kubernetes-preserve-unknown-fields there, or use the strategy Evict"
	if result.Outcome != restart.Refused || err == nil || err.Error() != dropped {
		t.Errorf("dropped: result %+v, error %v", result, err)
	}
	a.kinds = nil
	if result, err := a.Do(t.Context(), actingPolicy(""), action, "41"); result.Outcome != restart.Retry || err == nil {
		t.Errorf("not configured: result %+v, error %v", result, err)
	}
}

func TestAnnotateAppliesTwoAnnotationsToTheWorkloadThatWasSeen(t *testing.T) {
	for _, kind := range []common.WorkloadKind{common.WorkloadDeployment, common.WorkloadStatefulSet, common.WorkloadDaemonSet} {
		t.Run(string(kind), func(t *testing.T) {
			w := &fakeAPI{}
			action := restart.Action{Verb: restart.Annotate, ID: "x-1", Started: epoch, Workload: &restart.Workload{Workload: workloads.Workload{Kind: kind, Name: "api", UID: "u"}}}
			result, err := w.actor().Do(t.Context(), actingPolicy("deployer"), action, "41")
			if err != nil || result != (restart.Result{Action: action, Outcome: restart.Done, Generation: 7}) {
				t.Errorf("result %+v, error %v", result, err)
			}
			want := fmt.Sprintf(`{"kind":"%s","apiVersion":"apps/v1","metadata":{"name":"api","namespace":"shop","uid":"u","resourceVersion":"41"},`+
				`"spec":{"template":{"metadata":{"annotations":{"autoreboot.fairlead.dev/restart-id":"x-1","kubectl.kubernetes.io/restartedAt":"2026-03-02T14:00:00Z"}}}}}`, kind)
			if diff := cmp.Diff(want, string(w.applied)); diff != "" {
				t.Error(diff)
			}
			if w.options.FieldManager != "fairlead-restart" || w.options.Force == nil || !*w.options.Force {
				t.Errorf("options %+v", w.options)
			}
			if w.as != "shop/deployer" {
				t.Errorf("acts as %s", w.as)
			}
		})
	}
}

func TestWhatAnnotatingComesTo(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, test := range map[string]struct {
		err     error
		version string
		want    restart.Outcome
	}{
		"conflict":       {apierrors.NewConflict(deployments, "api", errors.New("changed")), "41", restart.Retry},
		"gone":           {apierrors.NewNotFound(deployments, "api"), "41", restart.Gone},
		"another gone":   {apierrors.NewNotFound(deployments, "web"), "41", restart.Retry},
		"forbidden":      {apierrors.NewForbidden(deployments, "api", errors.New("no")), "41", restart.Refused},
		"a policy":       {apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "api", nil), "41", restart.Refused},
		"a webhook":      {apierrors.NewInternalError(errors.New(`failed calling webhook "a": no`)), "41", restart.Refused},
		"a broken store": {apierrors.NewInternalError(errors.New("etcd is away")), "41", restart.Retry},
		"an overload":    {apierrors.NewTooManyRequests("later", 1), "41", restart.Retry},
		"out of reach":   {errors.New("connection refused"), "41", restart.Retry},
		"was not looked": {nil, "", restart.Retry},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeAPI{err: test.err}
			result, err := w.actor().Do(t.Context(), actingPolicy(""), restart.Action{
				Verb: restart.Annotate, ID: "x-1", Workload: &restart.Workload{Workload: workloads.Workload{Kind: common.WorkloadDeployment, Name: "api", UID: "u"}},
			}, test.version)
			if result.Outcome != test.want || err == nil {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
	}
}

func TestEvictNamesThePodThatWasSeen(t *testing.T) {
	w := &fakeAPI{}
	result, err := w.actor().Do(t.Context(), actingPolicy(""), restart.Action{
		Verb: restart.Evict, Workload: &restart.Workload{}, Pod: &restart.Pod{Name: "api-1", UID: "p"},
	}, "41")
	if err != nil || result.Outcome != restart.Done || w.evicted == nil || w.evicted.Name != "api-1" || w.evicted.Namespace != "shop" || *w.evicted.DeleteOptions.Preconditions.UID != "p" {
		t.Errorf("result %+v, error %v, eviction %+v", result, err, w.evicted)
	}
}

func TestWhatAnEvictionMeansForARestart(t *testing.T) {
	for outcome, want := range map[eviction.Outcome]restart.Outcome{
		eviction.Done: restart.Done, eviction.Gone: restart.Done, eviction.Replaced: restart.Retry, eviction.Blocked: restart.Blocked,
		eviction.Misconfigured: restart.Misconfigured, eviction.Refused: restart.Refused, eviction.Retry: restart.Retry,
	} {
		if got := evictionOutcome(outcome); got != want {
			t.Errorf("%s means %s, want %s", outcome, got, want)
		}
	}
}

// planned is a stand on which a workload was just told to restart.
func planned(t *testing.T) *suite {
	t.Helper()
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	s.advance(time.Minute)
	s.writes, s.events = 0, nil
	return s
}

func (s *suite) phase() autorebootv1.RestartPhase {
	s.Helper()
	flight := s.object().Status.InFlight
	if len(flight) != 1 {
		s.Fatalf("%d in flight", len(flight))
	}
	return flight[0].Phase
}

func TestWhatWasDoneIsRecordedByTheNextWrite(t *testing.T) {
	s := planned(t)
	if again := s.reconcile().RequeueAfter; again > controller.CoalescingInterval {
		t.Errorf("looks again after %s", again)
	}
	s.expectActions("Annotate api " + theRestart)
	if s.writes != 1 || s.phase() != autorebootv1.PhasePlanned {
		t.Errorf("%d writes, phase %s", s.writes, s.phase())
	}
	s.completeRollout("api")
	s.advance(controller.CoalescingInterval)
	s.reconcile()
	if s.writes != 2 || s.phase() != autorebootv1.PhaseSoaking {
		t.Errorf("%d writes, phase %s", s.writes, s.phase())
	}
	started := slices.DeleteFunc(slices.Clone(s.events), func(told string) bool { return !strings.HasPrefix(told, "RestartStarted") })
	if len(started) != 1 { // on the workload
		t.Errorf("told %q", s.events)
	}
	s.expectActions()
	s.expectNoWrite("the soak goes on")
}

func TestWhatWasNotDoneIsRecordedAtOnce(t *testing.T) {
	s := planned(t)
	s.doer.outcome = restart.Gone
	s.reconcile()
	s.expectActions("Annotate api " + theRestart)
	if history := s.object().Status.History; len(history) != 1 || history[0].Reason != autorebootv1.ReasonTargetGone {
		t.Errorf("history %+v", history)
	}
}
