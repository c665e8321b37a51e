// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var config = source{configMap, home, "config"}

// state is a Deployment at a version, with a mark in its template.
func state(version int, mark string) *appsv1.Deployment {
	of, _ := newWorkload(deployment, home, "web", environment(config), config).object.(*appsv1.Deployment)
	of.ResourceVersion, of.Spec.Replicas = fmt.Sprint(version), ptr.To[int32](1)
	of.Spec.Template.Annotations = map[string]string{"mark": mark}
	of.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	return of
}

func pod(version int, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: home, Name: name, ResourceVersion: fmt.Sprint(version), Labels: map[string]string{appLabel: "web"},
	}}
}

func TestRecord(t *testing.T) {
	r := newRecord()
	expect := func(what string, restarts, uncaused, stale int) {
		t.Helper()
		o, err := r.outcome()
		if err != nil || o.restarts != restarts || o.uncaused != uncaused || o.stale != stale || o.unsettled != 0 {
			t.Errorf("%s: %+v %v", what, o, err)
		}
	}
	r.expect(newWorkload(deployment, home, "web", environment(config), config))
	r.show(nil, state(10, ""))
	r.show(nil, pod(11, "a"))
	expect("a new workload", 0, 0, 0)
	r.show(state(10, ""), state(12, ""))
	expect("another status", 0, 0, 0)
	for version := range 2 {
		if err := r.change(config, fmt.Sprint(20+version)); err != nil {
			t.Fatal(err)
		}
	}
	expect("two changes", 0, 0, 1)
	r.show(state(12, ""), state(22, "1"))
	expect("a template without its pods", 1, 0, 1)
	r.show(nil, pod(23, "b"))
	r.remove(pod(24, "a"))
	r.show(pod(23, "b"), pod(25, "b"))
	expect("one restart for both", 1, 0, 0)
	r.show(state(22, "1"), state(26, "2"))
	expect("one restart for each", 2, 0, 0)
	r.show(state(26, "2"), state(27, "3"))
	expect("one restart more", 3, 1, 0)
	r.remove(pod(28, "b"))
	expect("no pod", 3, 1, 1)
	r.remove(state(29, "3"))
	expect("no workload", 3, 1, 0)
}

func TestCompare(t *testing.T) {
	var measured []Measurement
	for run := range 3 {
		n := float64(run + 1)
		measured = append(measured,
			Measurement{Scenario: "S1", Side: Reloader, Restarts: 10, LastSeconds: 1, CPUSeconds: n, MemoryPeak: 50 * mebi, MemoryEnd: 40 * mebi},
			Measurement{Scenario: "S1", Side: Fairlead, Restarts: 10, LastSeconds: 2, CPUSeconds: n * 1.5, MemoryPeak: 75 * mebi, MemoryEnd: 60 * mebi, Writes: 30})
	}
	if report := Compare(measured); !report.IsMet() || report.Comparisons[0].CPU != 1.5 {
		t.Errorf("%+v", report.Comparisons)
	}
	for missed, breaks := range map[string]func(r, f *Measurement){
		"processor 3.0 times":                          func(_, f *Measurement) { f.CPUSeconds *= 2 },
		"memory at its peak 3.0 times":                 func(_, f *Measurement) { f.MemoryPeak *= 2 },
		"memory at the end 3.0 times":                  func(_, f *Measurement) { f.MemoryEnd *= 2 },
		"31 writes for 10 restarts":                    func(_, f *Measurement) { f.Writes++ },
		"the last restart 1.5s later":                  func(_, f *Measurement) { f.LastSeconds += 0.5 },
		"Reloader leaves 1 workloads with old content": func(r, _ *Measurement) { r.Stale = 1 },
		"Fairlead restarts 2 times without a change":   func(_, f *Measurement) { f.Uncaused = 2 },
	} {
		broken := slices.Clone(measured)
		for i := 0; i < len(broken); i += 2 {
			breaks(&broken[i], &broken[i+1])
		}
		report, table := Compare(broken), strings.Builder{}
		if err := report.Write(&table); err != nil || report.IsMet() || !strings.HasSuffix(table.String(), "10 ConfigMaps: "+missed+"\n") {
			t.Errorf("%v: without %q:\n%s", err, missed, table.String())
		}
	}
}

func TestScenarios(t *testing.T) {
	for _, s := range scenarios() {
		names := map[string]bool{}
		for _, w := range s.workloads {
			names[keyOf(w.object.GetNamespace(), w.object.GetName())] = true
			for _, of := range w.sources {
				if !slices.Contains(s.sources, of) || of.namespace != w.object.GetNamespace() {
					t.Errorf("%s: %s has no source %s", s.Name, w.object.GetName(), of)
				}
			}
		}
		if len(names) != len(s.workloads) || len(s.sources) == 0 || s.writers == 0 || s.every == 0 {
			t.Errorf("%s: %d workloads, %d names, %d sources", s.Name, len(s.workloads), len(names), len(s.sources))
		}
	}
	if _, err := Run(t.Context(), Options{Scenarios: []string{"S6"}}); err == nil || !strings.Contains(err.Error(), "must be one of S1, ") {
		t.Error(err)
	}
}
