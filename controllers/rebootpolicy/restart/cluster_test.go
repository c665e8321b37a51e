// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
)

// configSource is the source of the trigger ConfigChange.
const configSource = "ConfigMap/a"

// simPod is a pod of the simulated cluster. reads is what it found in each source as it was made.
type simPod struct {
	name        string
	created     time.Time
	version     int
	ready       time.Time
	revision    int
	reads       [2]int
	restarts    int32
	terminating bool
	// bad is one that read what it cannot become ready with.
	bad bool
}

// simWorkload is a workload with its controller and its owner.
type simWorkload struct {
	name       string
	uid        string
	created    time.Time
	wave       int32
	desired    int
	generation int64
	revision   int
	restartID  string
	restarted  string
	pods       []simPod
	made       int
	// broken pods never become ready, looping ones restart, and wedged ones fail their probe.
	broken, looping, wedged bool
	// reverts means that its owner takes foreign changes back.
	reverts bool
	// budget refuses evictions, twoBudgets makes them impossible to decide, and refusing is admission that refuses
	// every change.
	budget, twoBudgets, refusing bool
	// lost is one whose first pod is on a node that is not ready: it can neither become ready nor end.
	lost bool
	// unselected is one that no label has the policy select.
	unselected bool
	// paused has its controller replace no pod. revisions are those that carry each restart.
	paused    bool
	revisions map[string]int
	// stuck is a revision whose pods never become ready. quota refuses further pods. An ordered workload is a StatefulSet that
	// replaces no pod before all are ready, and its first pods up to the partition are not replaced.
	stuck     int
	quota     bool
	ordered   bool
	partition int
}

// source is a source that a trigger watches. change counts up with each change, also with one back.
type source struct {
	content, change int
	written         time.Time
	version         int
	unknown         bool
	// unseen means that the process has not looked since it began, and first is when it did; zero where
	// it has seen the latest change itself.
	unseen bool
	first  time.Time
	// since is when the process first saw what there is now, which was the change that is shown.
	since time.Time
	shown int
}

// changes is a write that the API server records.
func (w *simCluster) changes(s *source, content int) {
	s.change++
	w.version++
	s.content, s.written, s.version = content, w.now.Truncate(time.Second), w.version
	if !s.unseen {
		s.first = time.Time{}
	}
}

// simCluster is a small cluster.
type simCluster struct {
	now       time.Time
	version   int // of the latest write
	workloads []*simWorkload
	sources   [2]source
	tick      int
	tickEnds  time.Time
	blackout  time.Time
	gate      bool
	suspect   bool
	// failing means that requests fail.
	failing bool
	group   int
	free    int
	share   int
	busy    map[types.UID]bool
	born    int
	// bad are the contents of the first source with which no pod becomes ready, and alwaysOpen has no windows.
	bad        map[int]bool
	alwaysOpen bool
	// rollouts by restart id, and reverted ids.
	rollouts map[string]int
	reverted map[string]bool
	// evicts is the strategy.
	evicts bool
	// names are those of the triggers, and keys is which keys of the ConfigMap count.
	names [4]string
	keys  int
}

// clone returns a cluster that goes its own way.
func (w *simCluster) clone() *simCluster {
	c := *w
	c.busy, c.rollouts, c.reverted, c.bad = maps.Clone(w.busy), maps.Clone(w.rollouts), maps.Clone(w.reverted), maps.Clone(w.bad)
	c.workloads = nil
	for _, s := range w.workloads {
		workload := *s
		workload.pods, workload.revisions = slices.Clone(s.pods), maps.Clone(s.revisions)
		c.workloads = append(c.workloads, &workload)
	}
	return &c
}

func (w *simCluster) podOf(s *simWorkload) simPod {
	s.made++
	w.version++
	s.wedged = false
	p := simPod{name: s.name + "-" + strconv.Itoa(s.made), created: w.now.Truncate(time.Second), version: w.version, ready: w.now.Add(4 * time.Second), revision: s.revision}
	for i := range w.sources {
		p.reads[i] = w.sources[i].content
	}
	p.bad = w.bad[p.reads[0]]
	return p
}

func (w *simCluster) createPod(s *simWorkload) {
	w.born++
	s.created = w.now.Truncate(time.Second)
	s.uid, s.generation, s.revision, s.restartID, s.pods, s.revisions, s.lost = fmt.Sprintf("uid-%d", w.born), 1, 1, "", nil, nil, false
	for range s.desired {
		p := w.podOf(s)
		p.ready = w.now
		s.pods = append(s.pods, p)
	}
}

func (s *simWorkload) ready(p *simPod, now time.Time) bool {
	return !p.ready.After(now) && !s.broken && !p.bad && (s.stuck == 0 || p.revision != s.stuck) && !s.isLost(p)
}

// isLost reports whether a pod can neither become ready nor end.
func (s *simWorkload) isLost(p *simPod) bool { return s.lost && p == &s.pods[0] }

// isSpared reports whether the controller goes on without a lost pod, as it may where there are three.
func (s *simWorkload) isSpared(p *simPod) bool { return s.isLost(p) && len(s.pods) >= 3 }

// isTerminating reports whether a lost pod is being deleted: its successor is made once its node is back.
func (s *simWorkload) isTerminating(p *simPod) bool {
	return s.isLost(p) && (p.terminating || p.revision != s.revision && !s.paused)
}

// advance lets time go by for controllers, owners and containers.
func (w *simCluster) advance(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		step := min(5*time.Second, end.Sub(w.now))
		if d > 10*time.Minute {
			step = min(time.Minute, end.Sub(w.now))
		}
		w.now = w.now.Add(step)
		for _, s := range w.workloads {
			if s.uid != "" {
				w.reconcile(s)
			}
		}
	}
}

func (w *simCluster) reconcile(s *simWorkload) {
	if s.reverts && s.restartID != "" {
		w.reverted[s.restartID+" of "+s.uid] = true
		s.restartID, s.restarted = "", ""
		s.generation++
		s.revision++
	}
	for len(s.pods) > s.desired {
		s.pods = s.pods[:len(s.pods)-1]
	}
	for len(s.pods) < s.desired && !s.quota {
		s.pods = append(s.pods, w.podOf(s))
	}
	for i := range s.pods {
		if s.looping && s.ready(&s.pods[i], w.now) {
			s.pods[i].restarts++
		}
	}
	if len(s.pods) > 0 && s.pods[0].terminating && !s.lost {
		s.pods[0] = w.podOf(s)
	}
	if s.paused {
		return
	}
	for i := range s.pods {
		p := &s.pods[i]
		if (p.revision == s.revision || s.ordered) && !s.ready(p, w.now) && !s.isSpared(p) {
			return // One at a time.
		}
	}
	for i := range s.pods {
		if s.pods[i].revision == s.revision || s.isSpared(&s.pods[i]) || i < s.partition {
			continue
		}
		if !s.isLost(&s.pods[i]) {
			s.pods[i] = w.podOf(s)
		}
		return
	}
}

// calendar has a window of four minutes in every ten, before a blackout.
func (w *simCluster) calendar() Calendar {
	const period, open = 10 * time.Minute, 4 * time.Minute
	start := w.now.Truncate(period)
	c := Calendar{Window: w.now.Sub(start) < open, NextOpen: w.now, BlackoutEnds: w.now}
	at := w.now
	if w.blackout.After(w.now) {
		c.Blackout, c.BlackoutEnds, at = "release", w.blackout, w.blackout
	}
	if start = at.Truncate(period); at.Sub(start) >= open {
		at = start.Add(period)
	}
	c.NextOpen = at
	if w.alwaysOpen {
		c.Window, c.NextOpen = true, c.BlackoutEnds
	}
	return c
}

func (w *simCluster) observe(token string) Observation {
	o := Observation{Now: w.now, Calendar: w.calendar(), Suspect: w.suspect, Others: Others{Group: w.group, Free: w.free, Disrupted: map[types.UID]bool{}}}
	if w.gate {
		o.Gates = []string{"ExternalService db is not Healthy"}
	}
	for uid := range w.busy {
		o.Others.Disrupted[uid] = true
	}
	o.Unselected = map[types.UID]bool{}
	for _, s := range w.workloads {
		switch {
		case s.uid == "":
			continue
		case s.unselected:
			o.Unselected[types.UID(s.uid)] = true
		}
		view := w.view(s, token)
		view.Unselected = s.unselected
		o.Workloads = append(o.Workloads, view)
	}
	return o
}

func (w *simCluster) view(s *simWorkload, token string) Workload {
	v := Workload{Wave: s.wave, Workload: workloads.Workload{
		Kind: common.WorkloadDeployment, Name: s.name, UID: types.UID(s.uid), Created: s.created,
		Generation: s.generation, RestartID: s.restartID, Desired: int32(s.desired),
	}}
	switch {
	case s.desired == 0:
		v.Obstacle = autorebootv1.ReasonScaledToZero
	case s.paused && !w.evicts:
		v.Obstacle = autorebootv1.ReasonPaused
	case s.partition >= s.desired && !w.evicts:
		v.Obstacle = autorebootv1.ReasonPartitioned
	}
	if s.ordered {
		v.Kind, v.Ordered = common.WorkloadStatefulSet, true
	} else if s.quota && len(s.pods) < s.desired {
		v.Shortage = workloads.Shortage{Reason: autorebootv1.ReasonReplicaFailure, Message: "exceeded quota"}
	}
	v.Partition = int32(min(s.partition, s.desired))
	v.Updated, v.Available = true, true
	v.Outdated = ptr.To(int32(max(s.desired-len(s.pods), 0)))
	for i := range s.pods {
		p := &s.pods[i]
		ready := s.ready(p, w.now)
		pod := &Pod{Name: p.name, UID: types.UID(s.uid + p.name), Created: p.created, Version: strconv.Itoa(p.version), Ready: ready,
			ReadyChanged: p.created, Restarts: p.restarts, Node: "node-1"}
		if ready {
			pod.ReadyChanged = p.ready
		}
		if s.isLost(p) {
			pod.Node, pod.Lost, pod.Terminating = "node-7", "which is not ready", s.isTerminating(p)
		}
		if ready {
			v.AvailablePods++
		}
		if i < s.partition && !w.evicts {
			v.Kept = append(v.Kept, *pod)
		} else {
			v.Pods = append(v.Pods, *pod)
		}
		v.Updated = v.Updated && (p.revision == s.revision || s.paused || i < s.partition)
		if p.revision != s.revision {
			*v.Outdated++
		}
		v.Available = v.Available && ready
	}
	v.Available, v.Updated = v.Available && len(s.pods) >= s.desired, v.Updated && len(s.pods) >= s.desired
	v.Complete = v.Updated && v.Available && len(s.pods) == s.desired
	v.Signals = []Signal{
		w.signal(w.names[0], configSource, 0, true),
		w.signal(w.names[1], "ExternalService/db/AddressesChanged", 1, false),
		{Trigger: w.names[2], Source: "0 3 * * * UTC", Fingerprint: "run-" + strconv.Itoa(w.tick), Deadline: w.tickEnds},
		{Trigger: w.names[3], Source: checkSource, Level: true, Firing: s.wedged},
		{Trigger: autorebootv1.RestartNowTrigger, Fingerprint: token},
	}
	return v
}

func (w *simCluster) signal(trigger, name string, i int, dated bool) Signal {
	s := Signal{Trigger: trigger, Source: name, Fingerprint: fmt.Sprintf("content-%d", w.sources[i].content)}
	if src := &w.sources[i]; dated {
		s.Fingerprint = strconv.Itoa(w.keys) + "/" + s.Fingerprint
		if src.unseen || src.shown != src.change+1 {
			src.since, src.shown = w.now, src.change+1
		}
		if src.unseen {
			src.unseen, src.first = false, w.now
		}
		s.Written, s.Recorded, s.Keys = src.written, src.written, "keys"
		s.Version, s.Created, s.Since = strconv.Itoa(src.version), time.Unix(0, 0), src.since
		if !src.first.IsZero() {
			s.Written, s.FirstSeen, s.ValuesWritten = src.first, true, src.written
		}
	}
	if w.sources[i].unknown {
		s.Unknown, s.Fingerprint = "Forbidden", ""
	}
	return s
}

// do is the API server.
func (w *simCluster) do(a Action) Result {
	result := Result{Action: a, Outcome: Gone}
	for _, s := range w.workloads {
		if s.name != a.Workload.Name || s.uid != string(a.Workload.UID) {
			continue
		}
		if s.refusing {
			result.Outcome, result.Reason, result.Message = Refused, autorebootv1.ReasonWriteRefused, "denied by policy no-restarts"
			return result
		}
		if a.Verb == Evict {
			result.Outcome = w.evict(s, a)
			return result
		}
		at := a.Started.Format(time.RFC3339)
		if s.restartID != a.ID || s.restarted != at {
			// As by resourceVersion: a stale actor gets a conflict.
			if s.generation != a.Workload.Generation {
				result.Outcome = Retry
				return result
			}
			s.restartID, s.restarted = a.ID, at
			s.generation++
			s.revision++
			if s.revisions == nil {
				s.revisions = map[string]int{}
			}
			s.revisions[a.ID] = s.revision
			w.rollouts[a.ID+" of "+s.uid]++
		}
		result.Outcome, result.Generation = Done, s.generation
	}
	return result
}

func (w *simCluster) evict(s *simWorkload, a Action) Outcome {
	for i := range s.pods {
		if s.pods[i].name != a.Pod.Name {
			continue
		}
		if s.twoBudgets {
			return Misconfigured
		}
		if s.budget {
			return Blocked
		}
		if s.isLost(&s.pods[i]) {
			s.pods[i].terminating = true
			continue
		}
		s.pods[i] = w.podOf(s)
	}
	return Done
}
