// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruptions

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// history is a sequence of changes from the API server, each at the next version.
type history struct {
	*testing.T
	first, changes []fact
	version        int
}

// begin is a Deployment of two pods, a and b.
func begin(t *testing.T) *history {
	h := &history{T: t}
	h.deployment("1", true)
	h.pod("a", "1", up)
	h.pod("b", "1", up)
	h.first, h.changes = h.changes, nil
	return h
}

func (h *history) tell(object client.Object, deleted bool) {
	h.Helper()
	h.version++
	object.SetResourceVersion(fmt.Sprint(h.version))
	object.SetUID(types.UID("uid-" + object.GetName()))
	f, err := factOf(object, deleted)
	if err != nil {
		h.Fatal(err)
	}
	h.changes = append(h.changes, f)
}

const (
	starting = iota
	up
	evicted
	ending
	gone
)

func (h *history) pod(name, template string, state int) {
	h.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{autorebootv1.RestartIDAnnotation: template}, Labels: map[string]string{"pod-template-hash": "5f"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5f", Controller: ptr.To(true)}},
	}}
	if state > starting {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if state == evicted {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
	}
	if state == evicted || state == ending {
		p.DeletionTimestamp = ptr.To(metav1.Now())
	}
	h.tell(p, state == gone)
}

func (h *history) deployment(template string, complete bool) {
	h.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
	d.Spec.Template.Annotations = map[string]string{autorebootv1.RestartIDAnnotation: template}
	if complete {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	}
	h.tell(d, false)
}

func (h *history) chaos(name string, outcome chaosv1.VictimOutcome, victims ...string) {
	h.Helper()
	c := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, pod := range victims {
		if c.Status.CurrentRun == nil {
			c.Status.CurrentRun = &chaosv1.CurrentRun{ID: "1"}
		}
		c.Status.CurrentRun.Victims = append(c.Status.CurrentRun.Victims,
			chaosv1.Victim{Name: pod, UID: types.UID("uid-" + pod), Outcome: outcome, Owner: &chaosv1.VictimOwner{Name: "web"}})
	}
	h.tell(c, false)
}

func (h *history) policy(restarting bool) {
	h.Helper()
	p := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	if restarting {
		p.Status.InFlight = []autorebootv1.InFlightRestart{{ID: "2", Name: "web"}}
	}
	h.tell(p, false)
}

// restart rolls a and b out as c and d, with a surplus pod first.
func (h *history) restart() {
	h.Helper()
	h.deployment("2", false)
	for i, old := range []string{"a", "b"} {
		h.pod([]string{"c", "d"}[i], "2", starting)
		h.pod([]string{"c", "d"}[i], "2", up)
		h.pod(old, "1", ending)
		h.pod(old, "1", gone)
	}
	h.deployment("2", true)
}

func (h *history) account(floor int) Account {
	return account(h.first, h.changes, map[string]int{"web": floor})
}

// faults are all of an account, one in a line.
func faults(a Account) string {
	var all []string
	for what, list := range map[string][]string{"below": a.Below, "overlap": a.Overlaps, "unnamed": a.Unnamed, "unended": a.Unended} {
		for _, text := range list {
			all = append(all, what+" "+text)
		}
	}
	return strings.Join(all, "\n")
}

func TestAKillAndARestartOneAfterTheOtherAreCountedAndAreNoFault(t *testing.T) {
	for name, died := range map[string]int{"an eviction": evicted, "a deletion": ending} {
		t.Run(name, func(t *testing.T) {
			h := begin(t)
			h.policy(true)
			h.restart()
			h.policy(false)
			h.chaos("x", chaosv1.VictimPending, "c")
			h.pod("c", "2", died)
			h.chaos("x", chaosv1.VictimEvicted, "c")
			h.pod("e", "2", starting)
			h.pod("c", "2", gone)
			h.pod("e", "2", up)
			h.chaos("x", "")
			a := h.account(1)
			if a.Kills != 1 || a.Restarts != 1 || a.KillsBy["x"] != 1 || a.Least["web"] != 1 {
				t.Errorf("%+v", a)
			}
			if found := faults(a); found != "" {
				t.Errorf("%s", found)
			}
			if a := h.account(2); len(a.Below) != 1 || !strings.Contains(a.Below[0], "1 pods ready") {
				t.Errorf("below 2: %q", a.Below)
			}
		})
	}
}

// The watches of several kinds tell of their changes in no order.
func TestTheOrderIsThatOfTheVersions(t *testing.T) {
	h := begin(t)
	h.chaos("x", chaosv1.VictimPending, "a")
	h.pod("a", "1", evicted)
	h.pod("c", "1", up)
	h.chaos("x", "")
	h.changes[0], h.changes[3] = h.changes[3], h.changes[0]
	if a := h.account(1); a.Kills != 1 || faults(a) != "" {
		t.Errorf("%+v", a)
	}
}

func TestEachFaultIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		play func(h *history)
		want string
	}{
		"a kill in a restart that no status tells of": {func(h *history) {
			h.policy(true)
			h.deployment("2", false)
			h.pod("a", "1", evicted)
			h.pod("c", "2", up)
			h.deployment("2", true)
			h.policy(false)
		}, "overlap Deployment web: the kill of pod a"},
		"a restart before a kill has ended": {func(h *history) {
			h.chaos("x", chaosv1.VictimPending, "a")
			h.pod("a", "1", evicted)
			h.chaos("x", "")
			h.policy(true)
			h.deployment("2", false)
			h.pod("c", "2", up)
			h.deployment("2", true)
			h.policy(false)
		}, "overlap Deployment web: restart 2"},
		"two kills at once": {func(h *history) {
			h.chaos("x", chaosv1.VictimPending, "a", "b")
			h.pod("a", "1", evicted)
			h.pod("b", "1", evicted)
			h.pod("c", "1", up)
			h.pod("d", "1", up)
			h.chaos("x", "")
		}, "overlap Deployment web: the kill of pod b"},
		"two statuses that name one workload": {func(h *history) {
			h.chaos("x", chaosv1.VictimPending, "a")
			h.policy(true)
			h.chaos("x", "")
			h.policy(false)
		}, "overlap Deployment web: RebootPolicy p names it"},
		"a kill that is named too late": {func(h *history) {
			h.pod("a", "1", evicted)
			h.chaos("x", chaosv1.VictimPending, "a")
			h.pod("c", "1", up)
			h.chaos("x", "")
		}, "unnamed Deployment web: the kill of pod a"},
		"a kill that was named in a run before": {func(h *history) {
			h.chaos("x", chaosv1.VictimSpared, "a")
			h.pod("a", "1", ending)
			h.chaos("x", "")
			h.pod("c", "1", up)
		}, "unnamed Deployment web: the kill of pod a"},
		"a restart that no status names": {func(h *history) { h.restart() }, "unnamed Deployment web: restart 2"},
		"a kill that is not recovered from": {func(h *history) {
			h.chaos("x", chaosv1.VictimPending, "a")
			h.pod("a", "1", evicted)
			h.chaos("x", "")
		}, "unended Deployment web: the kill of pod a"},
		"a run that does not end": {func(h *history) { h.chaos("x", chaosv1.VictimPending, "a") }, "unended Deployment web: ChaosPod x"},
	} {
		t.Run(name, func(t *testing.T) {
			h := begin(t)
			c.play(h)
			if found := faults(h.account(0)); !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
