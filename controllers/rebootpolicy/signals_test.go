// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/events"
)

const target = "targets: [{kind: Deployment, name: api}]\n"

// signalsOf are the signals of one trigger for the only workload.
func (o *observation) signalsOf(trigger string) []restart.Signal {
	var out []restart.Signal
	for _, signal := range o.workloads[0].Signals {
		if signal.Trigger == trigger {
			out = append(out, signal)
		}
	}
	return out
}

// setBaselines puts baselines into the status.
func (s *suite) setBaselines(baselines ...autorebootv1.Baseline) {
	s.Helper()
	policy := s.object()
	policy.Status.Targets = []autorebootv1.TargetStatus{{Kind: common.WorkloadDeployment, Name: "api", UID: "uid-api", TargetInternals: autorebootv1.TargetInternals{Baselines: baselines}}}
	s.must(s.store.Status().Update(s.Context(), policy))
}

func TestAScheduleNamesItsLatestRun(t *testing.T) {
	s := newSuite(t, target+`triggers: [{name: nightly, type: Schedule, schedule: {cron: "0 3 * * *", startingDeadline: 2h}}]`, deployment("api", 1, nil)...)
	if got := s.observe().signalsOf("nightly")[0]; got.Fingerprint != "" || got.Source != "0 3 * * * UTC" || got.Level {
		t.Errorf("before the first run since the policy was made: %+v", got)
	}
	s.now = time.Date(2026, 3, 3, 4, 0, 0, 0, time.UTC)
	seen := s.observe()
	want := restart.Signal{
		Trigger: "nightly", Source: "0 3 * * * UTC", Fingerprint: "2026-03-03T03:00",
		Deadline: time.Date(2026, 3, 3, 5, 0, 0, 0, time.UTC), RequeueAt: time.Date(2026, 3, 4, 3, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, seen.signalsOf("nightly")[0]); diff != "" {
		t.Error(diff)
	}
	if !seen.requeue.Equal(want.RequeueAt) {
		t.Errorf("looks again at %s", seen.requeue)
	}
}

func TestPodAgeFiresForTheOldestPodAtAMomentOfItsOwn(t *testing.T) {
	s := newSuite(t, target+`triggers: [{name: old, type: PodAge, podAge: {max: 10h}}]`, deployment("api", 2, nil)...)
	born := epoch.Add(-2 * time.Hour)
	signal := s.observe().signalsOf("old")[0]
	if !signal.Level || signal.Firing || signal.RequeueAt.Before(born.Add(9*time.Hour)) || signal.RequeueAt.After(born.Add(10*time.Hour)) {
		t.Errorf("young: %+v", signal)
	}
	s.now = signal.RequeueAt
	if again := s.observe().signalsOf("old")[0]; !again.Firing {
		t.Errorf("old enough: %+v", again)
	}
	var pods corev1.PodList
	s.must(s.store.List(t.Context(), &pods, client.InNamespace("shop")))
	for i := range pods.Items { // as chaos leaves them while they end
		pod := &pods.Items[i]
		pod.Finalizers = []string{"kubernetes"}
		s.must(s.store.Update(t.Context(), pod))
		s.must(s.store.Delete(t.Context(), pod))
	}
	if killed := s.observe().signalsOf("old")[0]; killed.Firing {
		t.Errorf("pods that end are old: %+v", killed)
	}
	if a, b := withJitter(10*time.Hour, "a"), withJitter(10*time.Hour, "b"); a == b || a != withJitter(10*time.Hour, "a") {
		t.Errorf("two workloads come of age at %s and %s", a, b)
	}
}

func TestReferencedAndListedSourcesAreOneSignalEach(t *testing.T) {
	objects := deployment("api", 1, nil)
	d := objects[0].(*appsv1.Deployment)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{
		{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "creds"}, Key: "b"}}},
		{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "x"}}},
	}}}
	s := newSuite(t, target+`triggers: [{name: config, type: ConfigChange, configChange: {sources: [{kind: Secret, name: creds, keys: [a]}, {kind: Secret, name: gone}, {kind: Secret, name: may-be, optional: true}], onCreate: Restart}}]`, objects...)
	seen := s.observe()
	var got []string
	for _, w := range s.content.wants {
		got = append(got, fmt.Sprintf("%s/%s %q", w.Kind, w.Name, w.Keys))
	}
	if want := `Secret/creds ["a" "b"], Secret/gone [], Secret/may-be [], ConfigMap/settings ["x"], Secret/creds ["b"]`; strings.Join(got, ", ") != want {
		t.Errorf("observes %q", got)
	}
	signals := seen.signalsOf("config")
	if len(signals) != 4 || seen.sourceCount != 4 {
		t.Fatalf("%d signals of %d sources", len(signals), seen.sourceCount)
	}
	if creds := signals[0]; creds.Source != "Secret/creds" || !strings.HasSuffix(creds.Fingerprint, "/hmac:1") || creds.SilentCreate || !creds.SilentDelete || creds.Written.IsZero() {
		t.Errorf("creds: %+v", creds)
	}
	if gone := signals[1]; gone.Fingerprint != "" || gone.Unknown != "" {
		t.Errorf("a source that is missing: %+v", gone)
	}
	if reason, messages := worstProblem(seen.problems); reason != autorebootv1.ReasonSourceNotFound || len(messages) != 1 || messages[0] != "trigger config: Secret gone does not exist" {
		t.Errorf("%s: %q", reason, messages)
	}
}

func TestOtherKeysOrAnotherInstallationsKeyAreAFirstSight(t *testing.T) {
	s := newSuite(t, config, deployment("api", 1, nil)...)
	first := s.observe().signalsOf("config")[0]
	s.setBaselines(autorebootv1.Baseline{Trigger: "config", Source: "Secret/creds", Fingerprint: first.Fingerprint})
	s.changeSource("Secret/creds", "hmac:2")
	if got := s.observe().signalsOf("config")[0]; got.Incomparable {
		t.Error("a change of what counts is taken for a first sight")
	}
	s.edit(func(p *autorebootv1.RebootPolicy) { p.Spec.Triggers[0].ConfigChange.Sources[0].Keys = []string{"a"} })
	if got := s.observe().signalsOf("config")[0]; !got.Incomparable {
		t.Error("other keys fire")
	}
}

func TestASourceThatGoesAndComesBackHasChangedOnlyIfItIsAnother(t *testing.T) {
	s := newSuite(t, config, deployment("api", 1, nil)...)
	first := s.observe().signalsOf("config")[0]
	s.setBaselines(autorebootv1.Baseline{Trigger: "config", Source: "Secret/creds", Fingerprint: first.Fingerprint})
	delete(s.content.states, "Secret/creds")
	if gone := s.observe().signalsOf("config")[0]; gone.Fingerprint != first.Fingerprint {
		t.Errorf("while it is gone: %+v", gone)
	}
	s.changeSource("Secret/creds", "hmac:2")
	if back := s.observe().signalsOf("config")[0]; back.Fingerprint == first.Fingerprint || back.Incomparable {
		t.Errorf("it came back as another: %+v", back)
	}
	delete(s.content.states, "Secret/creds")
	s.edit(func(p *autorebootv1.RebootPolicy) {
		p.Spec.Triggers[0].ConfigChange.OnCreate = ptr.To(autorebootv1.SourceRestart)
	})
	if gone := s.observe().signalsOf("config")[0]; gone.Fingerprint != "" || gone.SilentCreate || !gone.SilentDelete {
		t.Errorf("where its return counts: %+v", gone)
	}
}

func TestSourcesThatCannotBeReadAreNoted(t *testing.T) {
	for _, test := range []struct{ unknown, reason, message string }{
		{autorebootv1.ReasonForbidden, autorebootv1.ReasonForbidden, "trigger config: Secret creds may not be read by the operator"},
		{autorebootv1.ReasonTooManySources, autorebootv1.ReasonTooManyTargets, "trigger config: Secret creds is not watched: the operator watches too many sources already"},
		{autorebootv1.ReasonUnreadable, "", ""},
	} {
		t.Run(test.unknown, func(t *testing.T) {
			s := newSuite(t, config, deployment("api", 1, nil)...)
			s.content.states["Secret/creds"] = sources.State{Unknown: test.unknown}
			seen := s.observe()
			if got := seen.signalsOf("config")[0]; got.Unknown != test.unknown || got.Fingerprint != "" {
				t.Errorf("signal %+v", got)
			}
			if reason, messages := worstProblem(seen.problems); reason != test.reason || strings.Join(messages, "") != test.message {
				t.Errorf("%s: %q", reason, messages)
			}
		})
	}
}

func TestSelectedSources(t *testing.T) {
	spec := target + `triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, selector: {matchLabels: {app: api}}}], onDelete: Restart}}]`
	s := newSuite(t, spec, deployment("api", 1, nil)...)
	s.content.selected = map[string][]string{"app=api": {"creds"}}
	first := s.observe().signalsOf("config")
	if len(first) != 1 || first[0].Source != "Secret/creds" || first[0].SilentDelete {
		t.Fatalf("selected: %+v", first)
	}
	s.setBaselines(autorebootv1.Baseline{Trigger: "config", Source: "Secret/creds", Fingerprint: first[0].Fingerprint})

	s.content.selected = nil
	if got := s.observe().signalsOf("config"); len(got) != 0 {
		t.Errorf("it has other labels now: %+v", got)
	}
	delete(s.content.states, "Secret/creds")
	if got := s.observe().signalsOf("config"); len(got) != 1 || got[0].Fingerprint != "" || got[0].Unknown != "" {
		t.Errorf("it is gone: %+v", got)
	}
	s.content.err = fmt.Errorf("%w: more than 64 match", sources.ErrTooMany)
	seen := s.observe()
	if got := seen.signalsOf("config"); len(got) == 0 || got[0].Unknown == "" {
		t.Errorf("the selector cannot be followed: %+v", got)
	}
	if reason, _ := worstProblem(seen.problems); reason != autorebootv1.ReasonTooManyTargets {
		t.Errorf("reason %s", reason)
	}
}

func TestACertificateIsUrgentAndExpires(t *testing.T) {
	s := newSuite(t, target+`triggers: [{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: web-tls}}]`, deployment("api", 1, nil)...)
	expires := epoch.Add(48 * time.Hour)
	s.content.states["Secret/web-tls"] = sources.State{Fingerprint: "hmac:9", NotAfter: expires}
	got := s.observe().signalsOf("tls")[0]
	if got.Urgent != 24*time.Hour || got.Expires == nil || !got.Expires.Equal(expires) || !got.SilentDelete || !got.SilentCreate {
		t.Errorf("signal %+v", got)
	}
	if w := s.content.wants[0]; w.Certificate != "tls.crt" || w.Keys != nil {
		t.Errorf("wants %+v", w)
	}
}

const probed = target + `
cooldown: 10m
triggers: [{name: wedged, type: Probe, probe: {tcpSocket: {port: 80}}}]
`

func TestProbesAreCheckedOnlyWhileTheyMayDecide(t *testing.T) {
	failing := map[types.UID]podprobe.Result{"uid-api": {Checked: 1, Unhealthy: 1, Firing: true}}
	s := newSuite(t, probed, deployment("api", 1, nil)...)
	s.checks.verdicts = failing
	never := s.observe()
	if got := never.signalsOf("wedged")[0]; got.Firing || got.Unknown != autorebootv1.ReasonNeverAnswered {
		t.Errorf("a probe that has never succeeded: %+v", got)
	}
	if reason, messages := worstProblem(never.problems); reason != autorebootv1.ReasonProbeUnavailable || !strings.Contains(messages[0], "never answered") {
		t.Errorf("%s %q", reason, messages)
	}
	s.checks.verdicts = map[types.UID]podprobe.Result{"uid-api": {Checked: 1}}
	s.reconcile()
	s.checks.verdicts = failing
	if got := s.observe().signalsOf("wedged")[0]; !got.Level || !got.Firing {
		t.Errorf("signal %+v", got)
	}
	if len(s.checks.wants) != 1 || len(s.checks.wants[0].Pods) != 1 || s.checks.wants[0].Pods[0].IP.String() != "10.0.0.1" {
		t.Errorf("checks %+v", s.checks.wants)
	}

	closed := newSuite(t, probed+"gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]\n", deployment("api", 1, nil)...)
	closed.checks.verdicts = failing
	if got := closed.observe().signalsOf("wedged")[0]; got.Firing || len(closed.checks.wants) != 0 {
		t.Errorf("while a gate is closed: %+v, checks %+v", got, closed.checks.wants)
	}

	s.stateOf(s.object()).disrupted = map[types.UID]bool{"uid-api": true}
	if got := s.observe().signalsOf("wedged")[0]; got.Firing || len(s.checks.wants) != 0 {
		t.Errorf("while others disrupt the workload: %+v", got)
	}
	s.checks.suspect = true
	if seen := s.observe(); !seen.suspect || !seen.decisionInput().Suspect {
		t.Error("the suspicion is lost")
	}
}

func TestPodsAreCheckedAgainOnceOthersHaveEndedTheirDisruption(t *testing.T) {
	s := newSuite(t, probed, deployment("api", 1, nil)...)
	chaos := disruption.Holder{Kind: disruption.ChaosPod, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "c"}}
	for i, claims := range [][]disruption.Claim{nil, {{UID: "uid-api"}}, nil} {
		s.ledger.Do(chaos, "", func(disruption.View) []disruption.Claim { return claims })
		looks := 1
		for ; looks < 5 && s.reconcile().RequeueAfter == time.Millisecond; looks++ { // at once
		}
		if got := len(s.checks.wants); got != 1-len(claims) || looks == 5 {
			t.Errorf("%d: the pods of %d workloads are checked after %d looks while others disrupt %d", i, got, looks, len(claims))
		}
	}
}

func TestAProbeThatNeverFiresIsToldByTheCondition(t *testing.T) {
	for unsupported, want := range map[string]string{
		networkingv1.ProbeDenied:    autorebootv1.ReasonProbeUnavailable,
		common.ReasonHostUnresolved: "", "": "",
	} {
		s := newSuite(t, probed, deployment("api", 1, nil)...)
		s.checks.verdicts = map[types.UID]podprobe.Result{"uid-api": {Checked: 1, Unknown: 1, Unsupported: unsupported}}
		if reason, messages := worstProblem(s.observe().problems); reason != want || want != "" && !strings.Contains(events.Summarize(messages), `"wedged"`) {
			t.Errorf("%q: Ready has %q, %q; want %q", unsupported, reason, messages, want)
		}
	}
}

func TestTokensFitIntoTheStatus(t *testing.T) {
	long := strings.Repeat("x", 200)
	if got := shortFingerprint(long); len(got) > maxFingerprint || got == shortFingerprint(long+"y") {
		t.Errorf("a long token becomes %q", got)
	}
	if got := shortFingerprint("short"); got != "short" {
		t.Errorf("a short token becomes %q", got)
	}
}

func TestSignalsHaveABound(t *testing.T) {
	s := &observation{unselected: map[types.UID]bool{}}
	for i := range 40 {
		w := &workload{}
		w.Name, w.UID = fmt.Sprint(i), types.UID(fmt.Sprint(i))
		w.Signals = append(w.Signals, restart.Signal{Trigger: "age", Level: true})
		for j := range maxSignals + 1 {
			w.Signals = append(w.Signals, restart.Signal{Trigger: "config", Source: fmt.Sprint(j)})
		}
		s.workloads = append(s.workloads, w)
	}
	s.limitSignals()
	total, left := 0, 0
	for _, w := range s.workloads {
		if w.Unselected {
			left++
			continue
		}
		if len(w.Signals) != maxSignals+1 {
			t.Errorf("workload %s has %d signals", w.Name, len(w.Signals))
		}
		total += len(w.Signals) - 1
	}
	if len(s.unselected) != left {
		t.Errorf("what is known of %d workloads stays, and %d are left alone", len(s.unselected), left)
	}
	if total > maxBaselines || left != 40-maxBaselines/maxSignals {
		t.Errorf("%d sources, %d workloads left alone", total, left)
	}
	reason, messages := worstProblem(s.problems)
	if said := strings.Join(messages, "\n"); reason != autorebootv1.ReasonTooManyTargets || !strings.Contains(said, "not watched: 64;") ||
		!strings.Contains(said, "more than 1000 sources") || !strings.Contains(said, fmt.Sprintf("left alone:  %d;", maxBaselines/maxSignals)) {
		t.Errorf("reason %s: %q", reason, messages)
	}
}
