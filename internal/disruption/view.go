// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruption

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// View shows a holder how much it may claim. It is valid until the function that receives it returns.
type View struct {
	// Group is how many claims that do not soak other holders have in the same namespace and group; 0 without a group.
	Group int
	// Free is how many claims the holder may add to its own. It is negative where what was restored
	// is more than the cluster or the namespace may have.
	Free int
	// Full is why Free is not positive, in the words of a condition's message, with the namespaces that have the most
	// slots; empty while it is.
	Full string
	// Share is how many claims the holder may have if it uses again the slots that it gives back: MaxDisrupted where
	// none waits for a slot of the cluster. Otherwise it is an equal part of MaxDisrupted for each that has claims or
	// waits, or what the waiting holder with the fewest claims has, if that is more.
	Share int
	// Disrupted are the workloads that other holders claim. It must not be changed.
	Disrupted map[types.UID]bool
	// Lapsed are the workloads of the holder whose slot has lapsed: their end gives none back. It must not be changed.
	Lapsed map[types.UID]bool

	own  *account // nil without claims
	room room
	wait *waiter
}

// room is how many claims may be added within the limit of the cluster, and within that of the namespace.
type room struct{ cluster, namespace int }

// Beyond returns how many claims the holder may have beyond those that it keeps. It is more than Free where the
// holder has claimed in advance what it may not come to use, as when it decides a second time.
func (v View) Beyond(kept []Claim) int {
	room := v.room
	if v.own != nil {
		for _, c := range v.own.claims {
			room.cluster += number(c.hasSlot())
			room.namespace += number(!c.soaking)
		}
	}
	seen := map[types.UID]bool{}
	for _, c := range kept {
		if c.Soaking || seen[c.UID] {
			continue
		}
		seen[c.UID] = true
		room.namespace--
		room.cluster -= number(!v.Lapsed[c.UID])
	}
	return min(room.cluster, room.namespace)
}

// Wait records that the holder would claim more if others held less: it is woken once they do, and
// must call Do or Forget then, since a slot of the cluster is kept for it until it does. If it
// still finds no room it says so again, and keeps its place in the line. Naming the workloads it
// waits for, beside slots of its group and the cluster, spares it from being woken for others.
func (v View) Wait(workloads ...types.UID) {
	if v.wait.workloads == nil {
		v.wait.workloads = make(map[types.UID]bool, len(workloads))
	}
	for _, uid := range workloads {
		v.wait.workloads[uid] = true
	}
}

func (l *Ledger) view(h Holder, key groupKey, w *waiter) View {
	own := l.accounts[h]
	inNamespace, _ := l.roomOf(h.Namespace)
	v := View{
		Share: l.share(h), Disrupted: make(map[types.UID]bool, len(l.claimants)), Lapsed: map[types.UID]bool{},
		own: own, room: room{l.free(), inNamespace}, wait: w,
	}
	if v.Free = min(v.room.cluster, v.room.namespace); v.Free <= 0 {
		v.Full = l.fullText(v.room)
	}
	if own != nil {
		for uid, c := range own.claims {
			if c.lapsed {
				v.Lapsed[uid] = true
			}
		}
	}
	for uid, n := range l.claimants {
		if own != nil && own.claims[uid] != nil {
			n--
		}
		if n > 0 {
			v.Disrupted[uid] = true
		}
	}
	if key.name != "" {
		v.Group = l.groups[key]
		if own != nil && own.group == key {
			disrupted, _ := own.count()
			v.Group -= disrupted
		}
	}
	return v
}

// maxNamed is how many namespaces a message names.
const maxNamed = 3

// fullText is View.Full. Namespaces are named without numbers, in the order of their names: a message that changes with
// each restart would be a write of each status that has it.
func (l *Ledger) fullText(room room) string {
	if room.cluster > 0 {
		return fmt.Sprintf("as many workloads of the namespace are disrupted as rebootPolicies.maxRestarts allows the cluster (%d)", l.options.MaxDisrupted)
	}
	text := fmt.Sprintf("as many workloads of the cluster are disrupted as rebootPolicies.maxRestarts allows (%d)", l.options.MaxDisrupted)
	var names []string
	for name, t := range l.namespaces {
		if t.slots > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if n := l.namespaces[b].slots - l.namespaces[a].slots; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	names = names[:min(len(names), maxNamed)]
	slices.Sort(names)
	if len(names) == 0 {
		return text
	}
	return text + ", most of them in namespace " + strings.Join(names, ", ")
}

// Snapshot has the counts of a ledger.
type Snapshot struct {
	MaxDisrupted int
	Held         map[string]int // claims by kind of holder
	Waiting      int            // holders in line
	Slots        map[string]int // by namespace, those that have one
	Lapsed       map[string]int // disruptions whose slot has lapsed, by namespace
}

// Snapshot returns the counts, for metrics.
func (l *Ledger) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Snapshot{MaxDisrupted: l.options.MaxDisrupted, Held: map[string]int{}, Waiting: l.queue.len(), Slots: map[string]int{},
		Lapsed: map[string]int{}}
	for h, a := range l.accounts {
		s.Held[h.Kind] += len(a.claims)
	}
	for namespace, t := range l.namespaces {
		s.Slots[namespace], s.Lapsed[namespace] = t.slots, t.disrupted-t.slots
	}
	return s
}
