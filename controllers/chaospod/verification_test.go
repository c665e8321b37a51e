// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// fakeRequests has the requests that a test sets.
type fakeRequests struct {
	// wants and runs are what was set last, and counted what is counted for the run.
	wants   []clientprobe.Want
	runs    []clientprobe.Disruption
	counted []requestcount.Requests
}

func (f *fakeRequests) Set(_ types.NamespacedName, wants []clientprobe.Want, runs []clientprobe.Disruption) {
	if f.wants, f.runs = wants, runs; len(runs) == 0 {
		f.wants = nil
	}
}

func (f *fakeRequests) Requests(types.NamespacedName, string) []requestcount.Requests {
	return f.counted
}

func shopRequests(sent, failed int64) common.ProbeRequests {
	return common.ProbeRequests{Name: "shop", RequestCounts: common.RequestCounts{Sent: sent, Failed: failed}}
}

func (s *suite) requested(sent, failed int64) {
	s.sender.counted = []requestcount.Requests{{ProbeRequests: shopRequests(sent, failed)}}
}

const (
	soaking = `{dryRun: false, target: {workload: {kind: Deployment, name: api}}, schedule: {cron: "0 0 29 2 *"}, verification: {soak: 10s}}`
	proven  = `{dryRun: false, target: {workload: {kind: Deployment, name: api}}, schedule: {cron: "0 0 29 2 *"}, verification: {soak: 10s, probes: [{name: shop, host: shop.example.com, tcpSocket: {port: 443}}]}}`
)

// replace makes a pod in the place of the one that died.
func (s *suite) replace() {
	s.Helper()
	for _, object := range workload("api") {
		pod, is := object.(*corev1.Pod)
		if !is {
			continue
		}
		pod.Name, pod.UID, pod.CreationTimestamp = "api-1-new", "uid-new", metav1.NewTime(s.now)
		pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(s.now)
		s.must(s.store.Create(s.Context(), pod))
		return
	}
}

// kill runs until the victim is dead.
func (s *suite) kill() {
	s.Helper()
	s.requestRun()
	s.reconcile()
	s.requested(1, 0)
	s.now = s.now.Add(time.Second)
	s.reconcile()
	if len(s.killed) != 1 {
		s.Fatalf("%d died: %+v", len(s.killed), s.object().Status)
	}
}

func TestRequestsOfARunWriteNoStatus(t *testing.T) {
	writes := map[string]string{}
	for _, spec := range []string{soaking, proven} {
		s := newSuite(t, spec)
		s.requestRun()
		s.reconcile()
		if len(s.sender.wants) > 0 != (spec == proven) || len(s.killed) > 0 == (spec == proven) {
			t.Errorf("%+v, killed %q", s.sender.wants, s.killed)
		}
		if want := []clientprobe.Disruption{{ID: s.object().Status.CurrentRun.ID}}; !reflect.DeepEqual(s.sender.runs, want) {
			t.Errorf("the requests of a run that has begun: %+v", s.sender.runs)
		}
		for n := range int64(20) {
			s.requested(n+1, 0)
			s.now = s.now.Add(time.Second)
			s.reconcile()
		}
		s.replace()
		s.reconcile()
		s.requested(1240, 0)
		s.now = s.now.Add(11 * time.Second)
		s.reconcile()
		run := s.object().Status.History[0]
		if run.Result != chaosv1.ResultSurvived || len(s.killed) != 1 || len(s.sender.wants)+len(s.sender.runs) > 0 ||
			strings.HasPrefix(run.Message, "0 of 1,240 requests failed while pods died") != (spec == proven) {
			t.Errorf("%+v; killed %q; still sent: %+v", run, s.killed, s.sender.wants)
		}
		writes[spec] = s.object().ResourceVersion
	}
	if writes[soaking] != writes[proven] {
		t.Errorf("a run takes as many writes as resourceVersion %s, and with requests %s", writes[soaking], writes[proven])
	}
}

func TestAnotherProcessGoesOnWithTheCountsOfARun(t *testing.T) {
	s := newSuite(t, proven)
	s.kill()
	s.requested(40, 2)
	s.reconcile() // the first that are too many are stored
	id := s.object().Status.CurrentRun.ID
	s.sender.counted, s.sender.wants = nil, nil
	s.restart()
	s.reconcile()
	if want := []clientprobe.Disruption{{ID: id, Stored: []common.ProbeRequests{shopRequests(40, 2)}, Resumed: true}}; !reflect.DeepEqual(s.sender.runs, want) || len(s.sender.wants) != 1 {
		t.Fatalf("%+v, %+v", s.sender.runs, s.sender.wants)
	}
	s.replace()
	s.reconcile()
	s.expectCondition(chaosv1.ConditionSurvived, chaosv1.ReasonProbesFailed)
	s.expectCondition(chaosv1.ConditionStalled, chaosv1.ReasonProbesFailed)
}

// A process that is killed between the death and its record knows neither: the victim counts as dead, and the run as one that was
// observed in part.
func TestAProcessThatEndsBetweenTheDeathAndTheVerdict(t *testing.T) {
	s := newSuite(t, proven)
	ctx, cancel := context.WithCancel(t.Context())
	s.requestRun()
	s.reconcile()
	s.requested(1, 0)
	s.onKill = func() {
		s.stale = s.object() // which no write succeeds upon any more
		s.edit(func(object *chaosv1.ChaosPod) { object.Labels = map[string]string{"another": "write"} })
		cancel()
	}
	_, _ = s.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	s.onKill, s.stale = nil, nil
	if c := s.object().Status.CurrentRun; len(s.killed) != 1 || c.Phase != chaosv1.RunPlanned || c.Probes != nil {
		t.Fatalf("killed %q: %+v", s.killed, c)
	}
	s.sender.counted = nil
	s.restart()
	s.now = s.now.Add(time.Second)
	s.reconcile()
	if runs := s.sender.runs; len(s.killed) != 1 || len(runs) != 1 || !runs[0].Resumed {
		t.Fatalf("killed %q: %+v", s.killed, runs)
	}
	s.sender.counted = []requestcount.Requests{{ProbeRequests: shopRequests(30, 0), Resumed: true}}
	s.replace()
	s.reconcile()
	s.now = s.now.Add(11 * time.Second)
	s.reconcile()
	if run := s.object().Status.History[0]; run.Result != chaosv1.ResultSurvived || !strings.HasPrefix(run.Message, "0 of 30 requests failed while pods died; none was sent while no replica led") {
		t.Errorf("%+v", run)
	}
}

func TestNoRequestIsSentForARunThatIsNotApprovedNotRealOrGone(t *testing.T) {
	s := newSuite(t, proven)
	s.kill()
	host := func(host string) func(*chaosv1.ChaosPod) {
		return func(object *chaosv1.ChaosPod) {
			object.Spec.Verification.Probes[0].Host, object.Generation = host, object.Generation+1
		}
	}
	s.edit(host("other.example.com"))
	if s.reconcile(); len(s.sender.wants) > 0 {
		t.Errorf("not approved: %+v", s.sender.wants)
	}
	s.edit(approve)
	if s.reconcile(); len(s.sender.wants) != 1 || s.sender.wants[0].Probe.Host != "other.example.com" {
		t.Errorf("approved: %+v", s.sender.wants)
	}
	s.edit(func(object *chaosv1.ChaosPod) { object.Spec.Suspend = ptr.To(true) })
	if s.reconcile(); len(s.sender.wants) != 1 {
		t.Errorf("suspended, and still verified: %+v", s.sender.wants)
	}
	s.must(s.store.Delete(t.Context(), s.object()))
	if s.reconcile(); len(s.sender.wants) > 0 {
		t.Errorf("deleted: %+v", s.sender.wants)
	}

	dry := newSuite(t, strings.Replace(proven, "dryRun: false", "dryRun: true", 1))
	dry.requestRun()
	dry.reconcile()
	if dry.reconcile(); len(dry.sender.wants) > 0 || len(dry.object().Status.History) != 1 {
		t.Errorf("a dry run: %+v, %+v", dry.sender.wants, dry.object().Status)
	}
}

func TestTheAuthorityOfAProbeOfARunIsReadAndItsAbsenceTold(t *testing.T) {
	s := newSuite(t, strings.Replace(proven, "tcpSocket: {port: 443}", "httpGet: {port: 443}, tls: {caSecretName: roots}", 1))
	s.requestRun()
	s.reconcile()
	if got := s.sender.wants; len(got) != 1 || got[0].Unsupported != common.ReasonSecretUnavailable {
		t.Errorf("%+v", got)
	}
	s.sender.counted = []requestcount.Requests{{ProbeRequests: shopRequests(0, 0), NotSent: common.ReasonSecretUnavailable}}
	s.now = s.now.Add(2 * time.Minute)
	s.reconcile()
	if run := s.object().Status.History[0]; len(s.killed) > 0 || run.Reason != chaosv1.ReasonProbesFailed || !strings.Contains(run.Message, "(SecretUnavailable)") {
		t.Errorf("killed %q: %+v", s.killed, run)
	}
}
