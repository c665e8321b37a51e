// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Result is the result of a trigger for a workload.
type Result struct {
	// Checked is how many pods were given; 1 where the probe names a host.
	Checked int
	// Unhealthy is how many failed often enough in a row. Unknown is how many have no verdict: too few results, no IP or port,
	// or not allowed to be checked.
	Unhealthy, Unknown int
	// Firing: at least minUnhealthy of the pods are unhealthy.
	Firing bool
	// Unsupported is the reason, in one word, why the check cannot run. It is empty if it can.
	Unsupported string
}

// HasHealthy reports whether the check succeeds for any pod.
func (r Result) HasHealthy() bool { return r.Checked > r.Unhealthy+r.Unknown }

// check is one of a policy's checks; its results are the prober's.
type check struct {
	policy types.NamespacedName
	// key of the prober's targets; none where unsupported says why there are none.
	key          types.NamespacedName
	minUnhealthy intstr.IntOrString
	// unchecked are the pods without an IP or a port.
	unchecked   int
	unsupported string
	notified    notifiedState
}

// notifiedState is the part of a result whose changes are notified.
type notifiedState struct {
	firing, held, responded bool
	unsupported             string
}

// Result returns the current result. It is zero where nothing is Set, and not Firing where no pod was given.
func (c *Checks) Result(policy types.NamespacedName, trigger string, workload types.UID) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	about, ok := c.policies[policy][wantKey{trigger, workload}]
	if !ok {
		return Result{}
	}
	return c.resultOf(about)
}

func (c *Checks) resultOf(about *check) Result {
	if about.unsupported != "" {
		return Result{Checked: about.unchecked, Unknown: about.unchecked, Unsupported: about.unsupported}
	}
	counted := c.prober.Summary(about.key)
	v := Result{
		Checked:   counted.Healthy + counted.Unhealthy + counted.Unknown + about.unchecked,
		Unhealthy: counted.Unhealthy, Unknown: counted.Unknown + about.unchecked,
		Unsupported: counted.NotProbed,
	}
	least, err := requiredUnhealthy(about.minUnhealthy, v.Checked)
	v.Firing = err == nil && v.Unhealthy >= least
	return v
}

func (c *Checks) notifiedStateOf(about *check) notifiedState {
	v := c.resultOf(about)
	return notifiedState{firing: v.Firing, held: v.Firing && c.prober.IsFrozen(about.key),
		responded: about.notified.responded || v.HasHealthy(), unsupported: v.Unsupported}
}

// requiredUnhealthy returns how many of some pods must be unhealthy.
func requiredUnhealthy(least intstr.IntOrString, of int) (int, error) {
	n, err := intstr.GetScaledValueFromIntOrPercent(&least, of, true)
	if err != nil {
		return 0, fmt.Errorf("minUnhealthy %s: %w", least.String(), err)
	}
	return max(n, 1), nil
}
