// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// simPod is a pod of the simulated cluster.
type simPod struct {
	name    string
	uid     types.UID
	created time.Time
	ready   time.Time
	ends    time.Time // zero while it is not terminating
	node    int
}

// simOwner is a workload with its controller. budget is how many disruption budgets it has that let no
// pod go; two make the eviction API give up.
type simOwner struct {
	name, uid                                    string
	wanted, made, budget                         int
	pods                                         []simPod
	broken, rolling, unknown, forbidden, faulted bool
	minReady                                     time.Duration
}

// repair has its pods ready from now on.
func (o *simOwner) repair(now time.Time) {
	for i := range o.pods {
		if p := &o.pods[i]; o.broken && p.ready.Before(now) {
			p.ready = now.Truncate(time.Second)
		}
	}
	o.broken, o.rolling = false, false
}

// simCluster is a small API server.
type simCluster struct {
	now                time.Time
	owners             []*simOwner
	canary             *simOwner
	canaryHash         string
	busy               map[types.UID]bool
	cordoned, excluded int
}

func templateOf(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
}

func (c *simCluster) create(o *simOwner) {
	o.made++
	o.pods = append(o.pods, simPod{
		name: fmt.Sprintf("%s-%d", o.name, o.made), uid: types.UID(fmt.Sprintf("%s-pod-%d", o.uid, o.made)),
		created: c.now.Truncate(time.Second), ready: c.now.Add(4 * time.Second).Truncate(time.Second), node: o.made % 8,
	})
}

// advance lets time go by for controllers and containers.
func (c *simCluster) advance(d time.Duration) {
	for end := c.now.Add(d); c.now.Before(end); {
		c.now = c.now.Add(min(max(d/8, 2*time.Second), end.Sub(c.now)))
		for _, o := range c.all() {
			o.pods = slices.DeleteFunc(o.pods, func(p simPod) bool { return !p.ends.IsZero() && !p.ends.After(c.now) })
			if o == c.canary {
				continue
			}
			alive := 0
			for i := range o.pods {
				if o.pods[i].ends.IsZero() {
					alive++
				}
			}
			for ; alive < o.wanted; alive++ {
				c.create(o)
			}
			for i := range o.pods {
				if alive > o.wanted && o.pods[i].ends.IsZero() {
					o.pods[i].ends = c.now.Add(time.Second)
					alive--
				}
			}
		}
	}
}

func (c *simCluster) all() []*simOwner {
	if c.canary != nil {
		return []*simOwner{c.canary}
	}
	return c.owners
}

func (c *simCluster) views() []Owner {
	var views []Owner
	for _, o := range c.all() {
		v := Owner{Kind: "Deployment", Name: o.name, UID: types.UID(o.uid), Desired: int32(o.wanted), MinReady: o.minReady}
		if o.rolling {
			v.Unstable = "rolls out"
		}
		if o.faulted {
			v.Fault = "a fault"
		}
		if o.unknown {
			v.Unknown = "its status cannot be read"
		}
		for _, p := range o.pods {
			pod := Pod{
				Name: p.name, UID: p.uid, Node: fmt.Sprintf("n%d", p.node), Created: p.created, Running: true, Terminating: !p.ends.IsZero(),
				Selected: true, Protected: False, Cordoned: FactOf(p.node == c.cordoned && c.cordoned > 0), Covered: FactOf(o.budget > 0), Labels: map[string]string{},
			}
			if p.node == c.excluded {
				pod.Labels["chaos"] = "off"
			}
			if !o.broken && !p.ready.After(c.now) {
				pod.ReadySince = p.ready
			}
			v.Pods = append(v.Pods, pod)
		}
		views = append(views, v)
	}
	return views
}

// fresh is an old view in which the pods of pending victims are as they are.
func (c *simCluster) fresh(p *chaosv1.ChaosPod, old, now []Owner) []Owner {
	if p.Status.CurrentRun == nil || p.Status.CurrentRun.Phase == chaosv1.RunVerifying {
		return old
	}
	var out []Owner
	for _, o := range old {
		o.Pods = slices.Clone(o.Pods)
		o.Pods = slices.DeleteFunc(o.Pods, func(pod Pod) bool {
			return slices.ContainsFunc(p.Status.CurrentRun.Victims, func(v chaosv1.Victim) bool { return v.UID == pod.UID })
		})
		for _, live := range now {
			for _, pod := range live.Pods {
				if live.UID == o.UID && slices.ContainsFunc(p.Status.CurrentRun.Victims, func(v chaosv1.Victim) bool { return v.UID == pod.UID }) {
					o.Pods = append(o.Pods, pod)
				}
			}
		}
		out = append(out, o)
	}
	return out
}

// act is the API server, and the judge of what it is asked for.
func (m *model) act(a Action) Result {
	result := Result{Action: a, Outcome: Gone}
	switch a.Verb {
	case CreateCanary:
		if m.canary == nil {
			m.fail("a canary is made for a workload")
			return result
		}
		if len(m.canary.pods) > 0 {
			result.Outcome = Retry
			return result
		}
		m.create(m.canary)
		m.canaryHash, result.Outcome = a.Hash, Done
		return result
	case DeleteCanary:
		for i := range m.canary.pods {
			if p := &m.canary.pods[i]; p.uid == a.UID && p.ends.IsZero() {
				p.ends, result.Outcome = m.now.Add(time.Second), Done
			}
		}
		return result
	}
	if !m.named[a.RunID+"/"+string(a.UID)] {
		m.fail("run %s kills %s, which no stored status names", a.RunID, a.Pod)
	}
	if a.UID == "" {
		m.fail("a kill of %s without a UID", a.Pod)
	}
	for _, o := range m.all() {
		for i := range o.pods {
			p := &o.pods[i]
			if p.uid != a.UID || p.name != a.Pod {
				continue
			}
			switch {
			case o.forbidden:
				result.Outcome = Refused
			case a.Verb == Evict && o.budget > 1:
				result.Outcome = Misconfigured
			case a.Verb == Evict && o.budget > 0 && p.ends.IsZero():
				result.Outcome, result.Budget = Blocked, "pdb"
			case a.DryRun || !p.ends.IsZero(): // it dies already: the same request again is harmless
				result.Outcome = Done
			default:
				result.Outcome = Done
				p.ends = m.now.Add(2 * time.Second)
				m.killed(a, o)
			}
			return result
		}
	}
	return result
}

// killed is called with each pod that a request has killed.
func (m *model) killed(a Action, o *simOwner) {
	key := a.RunID + "/" + o.uid
	if before, ok := m.fell[key]; ok {
		m.fail("run %s killed two pods of %s: %s and %s", a.RunID, o.name, before, a.UID)
	}
	m.fell[key] = a.UID
	m.seen["killed"]++
	if m.stored.Spec.Safety == nil || m.stored.Spec.Safety.MaxPerDay == nil {
		return
	}
	day := m.now.UTC().Format(time.DateOnly)
	m.deaths[day]++
	if most := int(*m.stored.Spec.Safety.MaxPerDay); m.days && m.deaths[day] > most {
		m.fail("%d died on %s, %d may", m.deaths[day], day, most)
	}
}
