// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// remembered has every member of a status that Decide does not compute.
func remembered() *chaosv1.ChaosPodStatus {
	at := metav1.NewTime(time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC))
	return &chaosv1.ChaosPodStatus{
		ObservedGeneration: 3, Conditions: []metav1.Condition{{Type: chaosv1.ConditionReady}, {Type: chaosv1.ConditionSurvived, Status: metav1.ConditionFalse}},
		LastRunTime: &at, LastSuccessfulRunTime: &at, HandledRunNow: "monday", HandledRetry: "monday", KilledToday: 2, KilledDay: "2026-03-02",
		ChaosPodInternals: chaosv1.ChaosPodInternals{DueAfterTime: &at, VerifiedTarget: "a"},
		CurrentRun: &chaosv1.CurrentRun{ID: "c", Phase: chaosv1.RunPlanned, DryRun: true, Count: 1, StartTime: &at, RunInternals: chaosv1.RunInternals{Generation: 3},
			Victims: []chaosv1.Victim{{Name: "api-1", UID: "uid-1", Outcome: chaosv1.VictimPending}}},
		History: []chaosv1.Run{{Record: common.Record{ID: "b", Result: chaosv1.ResultSurvived}}, {Record: common.Record{ID: "a", Result: chaosv1.ResultNoVictim}}},
		Blocked: []chaosv1.BlockedWorkload{{BlockedBy: "budget"}}, Halt: &common.Halt{Reason: chaosv1.ReasonRecoveryFailed, RecordID: "b"},
	}
}

// Each member that a status has, also one that is added later, is restored or computed again.
func TestWhatAnotherWriterRemovedOfAStatusIsRestored(t *testing.T) {
	computed := []string{"nextRunTime", "v1alpha1"}
	seen := remembered()
	check := func(member string, remove func(*chaosv1.ChaosPodStatus)) {
		t.Helper()
		stored := remembered()
		remove(stored)
		status, lost := RestoreStatus(stored, seen)
		if !apiequality.Semantic.DeepEqual(status, seen) || len(lost) == 0 {
			t.Errorf("without %s: lost %q, and %+v was restored", member, lost, status)
		}
	}
	kind := reflect.TypeFor[chaosv1.ChaosPodStatus]()
	for i := range kind.NumField() {
		member, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if !slices.Contains(computed, member) {
			check(member, func(st *chaosv1.ChaosPodStatus) { reflect.ValueOf(st).Elem().Field(i).SetZero() })
		}
	}
	run := reflect.TypeFor[chaosv1.CurrentRun]()
	for i := range run.NumField() {
		if field := reflect.ValueOf(seen.CurrentRun).Elem().Field(i); !field.IsZero() {
			check("currentRun."+run.Field(i).Name, func(st *chaosv1.ChaosPodStatus) { reflect.ValueOf(st.CurrentRun).Elem().Field(i).SetZero() })
		}
	}
	check("history[0]", func(st *chaosv1.ChaosPodStatus) { st.History = st.History[1:] })
	check("conditions[1]", func(st *chaosv1.ChaosPodStatus) { st.Conditions = st.Conditions[:1] })
	check("anything", func(st *chaosv1.ChaosPodStatus) { *st = chaosv1.ChaosPodStatus{} })
}

func TestWhatAStatusHasIsKept(t *testing.T) {
	for name, change := range map[string]func(*chaosv1.ChaosPodStatus){
		"nothing": func(*chaosv1.ChaosPodStatus) {},
		"a run that has ended": func(st *chaosv1.ChaosPodStatus) {
			st.History, st.CurrentRun = append(st.History, chaosv1.Run{Record: common.Record{ID: "c"}}), nil
		},
		"another day":           func(st *chaosv1.ChaosPodStatus) { st.KilledDay, st.KilledToday = "2026-03-03", 1 },
		"a later time":          func(st *chaosv1.ChaosPodStatus) { st.DueAfterTime = &metav1.Time{Time: st.DueAfterTime.Add(time.Hour)} },
		"another token":         func(st *chaosv1.ChaosPodStatus) { st.HandledRunNow = "tuesday" },
		"an earlier generation": func(st *chaosv1.ChaosPodStatus) { st.ObservedGeneration = 1 },
	} {
		stored := remembered()
		change(stored)
		if status, lost := RestoreStatus(stored, remembered()); len(lost) > 0 || !apiequality.Semantic.DeepEqual(status, stored) {
			t.Errorf("%s: lost %q", name, lost)
		}
	}
}
