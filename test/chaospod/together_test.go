// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/disruptions"
)

// Two ChaosPods and a RebootPolicy that all want one workload disrupt it one after the other: of four
// pods, three are ready at any time, and what one of them does lies before or after all that another does.
func TestDisruptionsOfOneWorkloadNeverOverlap(t *testing.T) {
	s := newSuite(t)
	s.run("web", 4, "")
	s.Merge("apps/v1", "Deployment", "web", `{spec: {strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}}}`)
	s.available("web", 4)
	s.chaos("a", "dryRun: false, "+web+", "+someday)
	s.chaos("b", "dryRun: false, action: {type: Delete}, "+web+", "+someday)
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: p}, spec: {targets: [{kind: Deployment, name: web}],
		triggers: [{name: yearly, type: Schedule, schedule: {cron: "0 0 29 2 *"}}], cooldown: 0s, verification: {soak: 1s, timeout: 2m}}}`)
	s.Eventually(func() error {
		var p autorebootv1.RebootPolicy
		err := s.Get("p", &p)
		if err == nil && !meta.IsStatusConditionTrue(p.Status.Conditions, autorebootv1.ConditionReady) {
			err = fmt.Errorf("the policy is not ready")
		}
		return err
	})
	record, err := disruptions.Follow(s.Context(), s.Client, s.Namespace)
	s.Must(err)
	defer record.Close()
	s.now("a", "1")
	s.Merge(autorebootv1.GroupVersion.String(), "RebootPolicy", "p", fmt.Sprintf("{metadata: {annotations: {%q: %q}}}", autorebootv1.RestartNowAnnotation, "1"))
	s.now("b", "1")
	s.ended("a", 1, chaosv1.ResultSurvived)
	s.ended("b", 1, chaosv1.ResultSurvived)
	s.Eventually(func() error {
		var p autorebootv1.RebootPolicy
		err := s.Get("p", &p)
		if err == nil && (len(p.Status.History) != 1 || p.Status.History[0].Result != autorebootv1.ResultSucceeded) {
			err = fmt.Errorf("%+v", p.Status)
		}
		return err
	})
	done, err := record.Account(s.Context(), map[string]int{"web": 3})
	s.Must(err)
	if done.Kills != 2 || done.Restarts != 1 || done.KillsBy["a"] != 1 || done.KillsBy["b"] != 1 {
		t.Errorf("want a kill by each ChaosPod, and one restart: %+v", done)
	}
	for _, fault := range slices.Concat(done.Below, done.Overlaps, done.Unnamed, done.Unended) {
		t.Error(fault)
	}
}

func TestARestartWaitsForEvidenceThatItsTargetSurvives(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.chaos("c", web+", "+someday) // a dry run, by default
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: p}, spec: {targets: [{kind: Deployment, name: web}],
		triggers: [{name: yearly, type: Schedule, schedule: {cron: "0 0 29 2 *"}}], cooldown: 0s, verification: {soak: 0s, timeout: 2m},
		gates: [{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived}}]}}`)
	policy := func(ask func(*autorebootv1.RebootPolicyStatus) error) {
		s.Helper()
		s.Eventually(func() error {
			var p autorebootv1.RebootPolicy
			if err := s.Get("p", &p); err != nil {
				return err
			}
			return ask(&p.Status)
		})
	}
	policy(func(st *autorebootv1.RebootPolicyStatus) error {
		if len(st.Targets) == 0 { // what an annotation says from the beginning asks for nothing
			return errors.New("the policy was not reconciled yet")
		}
		return nil
	})
	s.Merge(autorebootv1.GroupVersion.String(), "RebootPolicy", "p", fmt.Sprintf("{metadata: {annotations: {%q: %q}}}", autorebootv1.RestartNowAnnotation, "1"))
	held := func(words string) {
		s.Helper()
		policy(func(st *autorebootv1.RebootPolicyStatus) error {
			c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
			if c == nil || c.Reason != autorebootv1.ReasonGateClosed || !strings.Contains(c.Message, words) || len(st.History)+len(st.InFlight) > 0 {
				return fmt.Errorf("want GateClosed with %q: %+v", words, st)
			}
			return nil
		})
	}
	held("ChaosPod c: condition Survived is Unknown (NoRun)")
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultDryRun)
	held("ChaosPod c: condition Survived is Unknown (NoRun)")
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{spec: {dryRun: false}}")
	s.now("c", "2")
	s.ended("c", 2, chaosv1.ResultSurvived)
	policy(func(st *autorebootv1.RebootPolicyStatus) error {
		if len(st.History) != 1 || st.History[0].Result != autorebootv1.ResultSucceeded {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
}

func TestWhatKillsIsStoredBeforehand(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	object, err := s.get("c")
	s.Must(err)
	changes, err := s.Client.Watch(s.Context(), &chaosv1.ChaosPodList{}, client.InNamespace(s.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: object.ResourceVersion}})
	s.Must(err)
	defer changes.Stop()
	before := s.pods("web")
	s.now("c", "1")
	for change := range changes.ResultChan() {
		c, ok := change.Object.(*chaosv1.ChaosPod)
		if !ok || c.Status.CurrentRun == nil {
			continue
		}
		if phase := c.Status.CurrentRun.Phase; phase != chaosv1.RunPlanned || c.Status.CurrentRun.Victims[0].Outcome != chaosv1.VictimPending {
			t.Errorf("the first status with the run is already %s", phase)
		}
		s.ended("c", 1, chaosv1.ResultSurvived)
		if died := gone(before, s.pods("web")); len(died) != 1 || died[0] != c.Status.CurrentRun.Victims[0].Name {
			t.Errorf("%q died, and %s was named", died, c.Status.CurrentRun.Victims[0].Name)
		}
		return
	}
	t.Error("the watch ended")
}
