// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruptions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Account records the disruptions of the Deployments of a namespace.
type Account struct {
	// Kills and Restarts are how many there were, and KillsBy the kills by the name of the ChaosPod whose
	// status named the pod.
	Kills, Restarts int
	KillsBy         map[string]int
	// Least is how few pods of each Deployment were ready at once, by its name.
	Least map[string]int
	// Below names each change after which a Deployment had fewer ready pods than its floor.
	Below []string
	// Overlaps names each disruption that began before another one of the same Deployment had ended.
	Overlaps []string
	// Unnamed names each kill whose pod was no victim in a status.currentRun beforehand, and each restart of
	// a Deployment that was in no status.inFlight.
	Unnamed []string
	// Unended names the disruptions that had not ended when the last change was seen.
	Unended []string
}

// doing is a disruption under way.
type doing struct {
	what   string
	since  uint64
	before int // ready pods that end it; negative for a restart, which the Deployment's status ends
}

// holding is an entry of a status.
type holding struct {
	holder string
	since  uint64
}

type standing struct {
	template string
	ready    int
	floor    int
	doing    []doing
	holding  []holding
}

// judge goes through facts, and keeps what held before each.
type judge struct {
	Account
	floors    map[string]int
	workloads map[string]*standing
	pods      map[types.UID]*pod
	claims    map[string]*claims
	victims   map[types.UID]string // the ChaosPod's name
}

// account judges the facts: those that held at first, and the changes since.
func account(first, changes []fact, floors map[string]int) Account {
	j := &judge{
		Account: Account{KillsBy: map[string]int{}, Least: map[string]int{}}, floors: floors,
		workloads: map[string]*standing{}, pods: map[types.UID]*pod{}, claims: map[string]*claims{}, victims: map[types.UID]string{},
	}
	for i := range first {
		j.remember(&first[i])
	}
	for name, w := range j.workloads {
		j.Least[name] = w.ready
		j.measure(name, w, 0)
	}
	slices.SortStableFunc(changes, func(a, b fact) int { return cmp.Compare(a.at, b.at) })
	for i := range changes {
		j.take(&changes[i])
	}
	for _, name := range slices.Sorted(maps.Keys(j.workloads)) {
		for _, d := range j.workloads[name].doing {
			j.Unended = append(j.Unended, fmt.Sprintf("Deployment %s: %s at version %d", name, d.what, d.since))
		}
		for _, h := range j.workloads[name].holding {
			j.Unended = append(j.Unended, fmt.Sprintf("Deployment %s: %s names it since version %d", name, h.holder, h.since))
		}
	}
	return j.Account
}

func (j *judge) workload(name string) *standing {
	w := j.workloads[name]
	if w == nil {
		w = &standing{floor: j.floors[name]}
		j.workloads[name] = w
	}
	return w
}

// remember takes a fact that held at first.
func (j *judge) remember(f *fact) {
	switch {
	case f.pod != nil:
		j.pods[f.uid] = f.pod
		if f.pod.workload != "" && f.pod.ready {
			j.workload(f.pod.workload).ready++
		}
	case f.workload != nil:
		j.workload(f.name).template = f.workload.template
	case f.claims != nil:
		j.claim(f)
	}
}

func (j *judge) take(f *fact) {
	switch {
	case f.pod != nil:
		if f.pod.workload != "" {
			j.seePod(f)
		}
	case f.workload != nil && !f.deleted:
		j.seeWorkload(f)
	case f.claims != nil:
		j.claim(f)
	}
}

func (j *judge) seePod(f *fact) {
	now, before := f.pod, j.pods[f.uid]
	if before == nil {
		before = &pod{}
	}
	now.evicted = now.evicted || before.evicted
	now.ending = now.ending || before.ending
	now.ready = now.ready && !now.ending
	w := j.workload(now.workload)
	if now.ending && !before.ending {
		j.ends(f, w)
	}
	w.ready += number(now.ready) - number(before.ready)
	if now.ready != before.ready {
		j.measure(now.workload, w, f.at)
	}
	w.doing = slices.DeleteFunc(w.doing, func(d doing) bool { return d.before >= 0 && w.ready >= d.before })
	j.pods[f.uid] = now
	if f.deleted {
		delete(j.pods, f.uid)
	}
}

func number(ready bool) int {
	if ready {
		return 1
	}
	return 0
}

// ends takes the end of a pod for a kill, unless it is that of a rollout.
func (j *judge) ends(f *fact, w *standing) {
	by, named := j.victims[f.uid]
	if !named && !f.pod.evicted && f.pod.template != w.template {
		return
	}
	what := "the kill of pod " + f.name
	j.Kills++
	j.KillsBy[by]++
	if !named {
		j.Unnamed = append(j.Unnamed, fmt.Sprintf("Deployment %s: %s at version %d", f.pod.workload, what, f.at))
	}
	j.begins(f.pod.workload, w, doing{what: what, since: f.at, before: w.ready})
}

func (j *judge) seeWorkload(f *fact) {
	w := j.workload(f.name)
	if f.workload.template != w.template {
		w.template = f.workload.template
		what := "restart " + w.template
		j.Restarts++
		if !slices.ContainsFunc(w.holding, func(h holding) bool { return strings.HasPrefix(h.holder, "RebootPolicy ") }) {
			j.Unnamed = append(j.Unnamed, fmt.Sprintf("Deployment %s: %s at version %d", f.name, what, f.at))
		}
		j.begins(f.name, w, doing{what: what, since: f.at, before: -1})
	}
	if f.workload.complete {
		w.doing = slices.DeleteFunc(w.doing, func(d doing) bool { return d.before < 0 })
	}
}

func (j *judge) begins(name string, w *standing, next doing) {
	for _, d := range w.doing {
		j.Overlaps = append(j.Overlaps, fmt.Sprintf("Deployment %s: %s at version %d, in %s since version %d", name, next.what, next.since, d.what, d.since))
	}
	w.doing = append(w.doing, next)
}

// claim takes what a status says is under way.
func (j *judge) claim(f *fact) {
	now, before := f.claims, j.claims[f.claims.holder]
	if before == nil {
		before = &claims{}
	}
	for _, uid := range before.victims {
		delete(j.victims, uid)
	}
	for _, uid := range now.victims {
		j.victims[uid] = f.name
	}
	for _, name := range before.workloads {
		if !slices.Contains(now.workloads, name) {
			w := j.workload(name)
			w.holding = slices.DeleteFunc(w.holding, func(h holding) bool { return h.holder == now.holder })
		}
	}
	for _, name := range now.workloads {
		if slices.Contains(before.workloads, name) {
			continue
		}
		w := j.workload(name)
		for _, h := range w.holding {
			j.Overlaps = append(j.Overlaps, fmt.Sprintf("Deployment %s: %s names it at version %d, and %s since version %d", name, now.holder, f.at, h.holder, h.since))
		}
		w.holding = append(w.holding, holding{now.holder, f.at})
	}
	j.claims[now.holder] = now
}

func (j *judge) measure(name string, w *standing, at uint64) {
	if least, known := j.Least[name]; !known || w.ready < least {
		j.Least[name] = w.ready
	}
	if w.ready < w.floor {
		j.Below = append(j.Below, fmt.Sprintf("Deployment %s: %d pods ready at version %d, want %d at least", name, w.ready, at, w.floor))
	}
}
