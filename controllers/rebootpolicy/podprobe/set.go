// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Pod is a pod to check.
type Pod struct {
	Name string
	UID  types.UID
	// IP of its status, and Port to check. Without either the pod cannot be checked.
	IP   netip.Addr
	Port uint16
}

// Want is a check of one workload by one trigger.
type Want struct {
	Trigger  string
	Workload types.UID
	// Probe is valid and has its defaults.
	Probe *autorebootv1.Probe
	// Secrets is the content of the Secrets that it names.
	Secrets probe.Secrets
	// Unsupported is why nothing can be checked, in one word; empty where something can.
	Unsupported string
	// Pods of the workload. They are ignored where the probe names a host.
	Pods []Pod
	// Kept means that its pods are not known now: the check that there is goes on as it is, and without one none begins.
	Kept bool
}

// wantKey identifies a Want of a policy.
type wantKey struct {
	trigger  string
	workload types.UID
}

// Set replaces what is checked for a policy. A check that does not change keeps its results. Of two Wants for the same
// trigger and workload the last one counts. A Set without changes is cheap.
func (c *Checks) Set(policy types.NamespacedName, wants []Want) {
	c.setMu.Lock()
	defer c.setMu.Unlock()
	slots := make(map[wantKey]*check, len(wants))
	kept := make(map[types.NamespacedName]*check, len(wants))
	for i := range wants {
		want := &wants[i]
		var about *check
		if want.Kept {
			about = c.former(policy, want)
		} else {
			about = c.start(policy, want, kept)
		}
		if about == nil {
			continue
		}
		if about.unsupported == "" {
			kept[about.key] = about
		}
		slots[wantKey{want.Trigger, want.Workload}] = about
	}
	for _, key := range c.swap(policy, slots, kept) {
		c.prober.Forget(key)
	}
}

// Forget drops all checks of a policy.
func (c *Checks) Forget(policy types.NamespacedName) { c.Set(policy, nil) }

// former returns the check that there is for a Want; nil for none. One of a probe that the spec does not have any more is none.
func (c *Checks) former(policy types.NamespacedName, want *Want) *check {
	c.mu.Lock()
	defer c.mu.Unlock()
	about := c.policies[policy][wantKey{want.Trigger, want.Workload}]
	if about == nil || about.unsupported == "" && about.key != keyOf(policy, want) {
		return nil
	}
	return about
}

// keyOf returns the key of a check of the prober. Workloads of one policy share that of a host.
func keyOf(policy types.NamespacedName, want *Want) types.NamespacedName {
	asked := want.Trigger + " " + IdentityOf(want.Probe)
	if host := ptr.Deref(want.Probe.Host, ""); host != "" {
		return clientprobe.HostKey(policy, asked, host)
	}
	return podsKey(policy, asked, want.Workload)
}

// start passes a Want to the prober.
func (c *Checks) start(policy types.NamespacedName, want *Want, kept map[types.NamespacedName]*check) *check {
	p := want.Probe
	about := &check{policy: policy, minUnhealthy: *p.MinUnhealthy, unsupported: want.Unsupported}
	if want.Unsupported != "" {
		about.unchecked = len(want.Pods)
		return about
	}
	about.key = keyOf(policy, want)
	switch begun := kept[about.key]; {
	case begun != nil:
		return begun
	case ptr.Deref(p.Host, "") != "":
		c.prober.Set(about.key, checkOf(p, want.Secrets), hostTarget(p))
	default:
		all, without := targets(want.Pods)
		about.unchecked = without
		c.prober.Set(about.key, checkOf(p, want.Secrets), all)
	}
	return about
}

// swap replaces the checks of a policy, and returns the keys of those that have ended. The caller of Set reads the
// results next, so that it is not notified of them.
func (c *Checks) swap(policy types.NamespacedName, slots map[wantKey]*check, kept map[types.NamespacedName]*check) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	var over []types.NamespacedName
	for _, was := range c.policies[policy] {
		if _, stays := kept[was.key]; stays || was.unsupported != "" {
			continue
		}
		delete(c.byKey, was.key)
		over = append(over, was.key)
	}
	for key, about := range kept {
		c.byKey[key] = about
		about.notified = c.notifiedStateOf(about)
	}
	if c.policies[policy] = slots; len(slots) == 0 {
		delete(c.policies, policy)
	}
	return over
}
