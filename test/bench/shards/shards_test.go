// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWhatWasWrittenMadeOrDeletedCounts(t *testing.T) {
	before := versions{"n/same": "u1 1", "n/written": "u2 2", "n/again": "u3 3", "n/gone": "u4 4"}
	after := versions{"n/same": "u1 1", "n/written": "u2 5", "n/again": "u6 3", "n/new": "u7 7"}
	if n := changed(before, after); n != 4 {
		t.Errorf("%d changed, want 4", n)
	}
	if n := changed(before, before); n != 0 {
		t.Errorf("%d changed of the same", n)
	}
}

func TestRestartsAreComparedWithChangesOfTheSameDeployment(t *testing.T) {
	for name, c := range map[string]struct {
		pairs       [][2]int // changes, restarts
		least, most float64
	}{
		"each once":           {[][2]int{{4, 4}, {3, 3}, {0, 0}}, 1, 1},
		"one twice":           {[][2]int{{4, 4}, {4, 5}}, 1, 1.25},
		"one missing":         {[][2]int{{4, 3}, {4, 4}}, 0.75, 1},
		"one missing, first":  {[][2]int{{1, 0}, {1, 1}}, 0, 1},
		"neither hides other": {[][2]int{{4, 3}, {4, 5}}, 0.75, 1.25},
		"without a change":    {[][2]int{{0, 1}, {4, 4}}, 1, 2},
	} {
		var all counts
		for _, pair := range c.pairs {
			all.add(pair[0], pair[1])
		}
		if all.least != c.least || all.most != c.most {
			t.Errorf("%s: %v to %v, want %v to %v", name, all.least, all.most, c.least, c.most)
		}
	}
}

func TestATemplateThatWasWrittenTwiceIsTwoRestarts(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	if n := restartsOf(d); n != 0 {
		t.Errorf("%d restarts of a new one", n)
	}
	d.Generation, d.Annotations = 3, map[string]string{"deployment.kubernetes.io/revision": "2"}
	if n := restartsOf(d); n != 2 {
		t.Errorf("%d restarts by generation, want 2", n)
	}
	d.Annotations["deployment.kubernetes.io/revision"] = "4"
	if n := restartsOf(d); n != 3 {
		t.Errorf("%d restarts by revision, want 3", n)
	}
}

func TestEndpointsThatAreNotReadyGetNoRequest(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"198.18.0.1"}},
		{Addresses: []string{"198.18.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}},
		{Addresses: []string{"198.18.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
	}}
	got, err := readyIn([]any{slice})
	if err != nil || len(got) != 2 || got[1].String() != "198.18.0.2" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLostRequestsAreCountedAndTheFirstIsKept(t *testing.T) {
	var all requests
	for _, err := range []error{nil, errors.New("refused"), nil, errors.New("later")} {
		all.count(err)
	}
	if all.sent != 4 || all.lost != 2 || !strings.Contains(all.first.Error(), "refused") {
		t.Errorf("%d sent, %d lost: %v", all.sent, all.lost, all.first)
	}
}

func TestQuantilesAreOfSortedTimes(t *testing.T) {
	times := []time.Duration{4, 1, 3, 2}
	if p50, most := quantile(times, 50), quantile(times, 100); p50 != 2 || most != 4 || quantile(nil, 50) != 0 {
		t.Errorf("p50 %d, most %d", p50, most)
	}
}

func TestARowHasItsPartOfOneLeader(t *testing.T) {
	var r Result
	r.add("x", "MiB", 1, 3, "")
	r.add("y", "s", 1, 0, "0")
	if rows := r.Rows(); rows[0].Name != "shards/x" || rows[0].Ratio != 0.33 || rows[1].Ratio != 0 {
		t.Errorf("%+v", rows)
	}
}
