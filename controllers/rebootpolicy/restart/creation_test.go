// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// A workload that is created under a policy is owed what changed before the policy saw it first.
func TestANewWorkloadIsDatedByItsCreation(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(b *suite, w *Workload, s *Signal)
		owed bool
	}{
		"changed a second after its pods": {func(*suite, *Workload, *Signal) {}, true},
		"seen by a new process, which finds the time of the values": {func(b *suite, _ *Workload, s *Signal) {
			s.Written, s.FirstSeen, s.ValuesWritten = b.o.Now, true, s.Written
		}, true},
		"changed when nothing says": {func(b *suite, _ *Workload, s *Signal) {
			s.Written, s.FirstSeen = b.o.Now, true
		}, false},
		"changed before its pods": {func(_ *suite, w *Workload, s *Signal) { s.Written = w.Created.Add(-time.Second) }, false},
		"changed in the second of its pods, before them": {func(_ *suite, w *Workload, s *Signal) {
			s.Written, s.Version, w.Pods[0].Version = w.Created, "7", "8"
		}, false},
		"changed in the second of its pods, after them": {func(_ *suite, w *Workload, s *Signal) {
			s.Written, s.Version, w.Pods[0].Version = w.Created, "8", "7"
		}, true},
		"changed in the second of its pods, when one existed": {func(_ *suite, w *Workload, s *Signal) {
			s.Written, s.Version, w.Pods[0].PresentAt = w.Created, "8", "8"
		}, true},
		"changed in the second of its pods, when none existed": {func(_ *suite, w *Workload, s *Signal) {
			s.Written, s.Version, w.Pods[0].AbsentAt = w.Created, "8", "8"
		}, false},
		"changed in the second of its pods, and nothing says in which order": {func(_ *suite, w *Workload, s *Signal) {
			s.Written, s.Version = w.Created, "8"
		}, false},
		"written again with the same content": {func(_ *suite, w *Workload, s *Signal) { s.Since = w.Created.Add(-time.Second) }, false},
		"created after its pods, which waited for it": {func(_ *suite, _ *Workload, s *Signal) {
			s.Created, s.SilentCreate = s.Written, true
		}, false},
		"created after its pods, where that restarts": {func(_ *suite, _ *Workload, s *Signal) { s.Created = s.Written }, true},
		"created after its pods, and changed": {func(_ *suite, w *Workload, s *Signal) {
			s.Created, s.SilentCreate, s.Written = w.Created.Add(time.Second), true, w.Created.Add(2*time.Second)
		}, true},
		"ignored":                       {func(_ *suite, _ *Workload, s *Signal) { s.Ignored = true }, false},
		"of a workload without pods":    {func(_ *suite, w *Workload, _ *Signal) { w.Pods = nil }, false},
		"of a workload that is not new": {func(_ *suite, w *Workload, _ *Signal) { w.Created = noon().Add(-newFor) }, false},
		"of a policy that came later": {func(b *suite, w *Workload, _ *Signal) {
			b.p.CreationTimestamp = metav1.NewTime(w.Created.Add(time.Second))
		}, false},
		"of a policy that came with it": {func(b *suite, w *Workload, _ *Signal) { b.p.CreationTimestamp = metav1.NewTime(w.Created) }, true},
		"of a policy that is made because of it": {func(b *suite, w *Workload, _ *Signal) {
			yes := true
			b.p.CreationTimestamp = metav1.NewTime(w.Created.Add(time.Second))
			b.p.OwnerReferences = []metav1.OwnerReference{{APIVersion: autorebootv1.GroupVersion.String(), Kind: "ClusterRebootPolicy", Name: "on-change", Controller: &yes}}
		}, true},
		"of a workload that the policy knows": {func(b *suite, w *Workload, s *Signal) {
			b.p.Status.Targets = append(b.p.Status.Targets, autorebootv1.TargetStatus{Kind: w.Kind, Name: w.Name, UID: w.UID})
		}, false},
		"of a workload that the policy knows, and could not be read before": {func(b *suite, w *Workload, s *Signal) {
			b.p.Status.Targets = append(b.p.Status.Targets, autorebootv1.TargetStatus{Kind: w.Kind, Name: w.Name, UID: w.UID})
			b.p.Status.Triggers[0].State = autorebootv1.TriggerUnknown
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			w := *b.workload(0)
			w.Name, w.UID, w.Created = "web", "uid-web", noon().Add(-3*time.Second)
			w.Pods = []Pod{{Name: "web-1", Created: w.Created, Ready: true}}
			w.Signals = []Signal{{Trigger: "config", Source: "Secret/creds", Fingerprint: "keys/new", Keys: "names",
				Written: w.Created.Add(time.Second), Created: noon().Add(-2 * time.Hour)}}
			c.put(b, &w, &w.Signals[0])
			b.o.Workloads = append(b.o.Workloads, w)
			b.decide()
			if owed := b.target(1).Pending != nil; owed != c.owed {
				t.Fatalf("owed: %t: %+v, %v", owed, b.target(1), b.messages)
			}
			if c.owed { // once
				b.workload(1).Pods[0].Created = b.o.Now
				b.after(time.Minute)
			}
			if b.after(time.Hour); b.target(1).Pending != nil || len(b.p.Status.InFlight) > 0 || b.target(1).Baselines[0].Fingerprint != "keys/new" {
				t.Errorf("in the end: %+v", b.target(1))
			}
		})
	}
}
