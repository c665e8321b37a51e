// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Verdict is what a trigger says about a workload.
type Verdict struct {
	// Checked is how many pods were given; 1 where the probe names a host.
	Checked int
	// Unhealthy are those that failed often enough in a row, and Unknown those of which nothing is
	// known: too few results yet, no IP, or not to be asked.
	Unhealthy, Unknown int
	// Firing: at least minUnhealthy of the pods are unhealthy.
	Firing bool
	// Unsupported is why nothing can be found out, in one word; empty where something can.
	Unsupported string
}

// check is what is known of one of a policy's checks, beside what the prober knows.
type check struct {
	policy types.NamespacedName
	// key of the prober's targets; none where unsupported says why there are none.
	key         types.NamespacedName
	least       intstr.IntOrString
	without     int
	unsupported string
	told        news
}

// news is what of a verdict is worth a notification.
type news struct {
	firing, held bool
	unsupported  string
}

// Verdict says what is known now. It is zero where nothing is Set, and not Firing where no pod was
// given.
func (c *Checks) Verdict(policy types.NamespacedName, trigger string, workload types.UID) Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	about, ok := c.policies[policy][slot{trigger, workload}]
	if !ok {
		return Verdict{}
	}
	return c.verdictOf(about)
}

func (c *Checks) verdictOf(about *check) Verdict {
	if about.unsupported != "" {
		return Verdict{Checked: about.without, Unknown: about.without, Unsupported: about.unsupported}
	}
	counted := c.prober.Summary(about.key)
	v := Verdict{
		Checked:   counted.Healthy + counted.Unhealthy + counted.Unknown + about.without,
		Unhealthy: counted.Unhealthy, Unknown: counted.Unknown + about.without,
		Unsupported: counted.NotProbed,
	}
	least, err := required(about.least, v.Checked)
	v.Firing = err == nil && v.Unhealthy >= least
	return v
}

// newsOf is the news about a check as it is now.
func (c *Checks) newsOf(about *check) news {
	v := c.verdictOf(about)
	return news{firing: v.Firing, held: v.Firing && c.prober.IsFrozen(about.key), unsupported: v.Unsupported}
}

// required is how many of so many pods must be unhealthy.
func required(least intstr.IntOrString, of int) (int, error) {
	n, err := intstr.GetScaledValueFromIntOrPercent(&least, of, true)
	if err != nil {
		return 0, fmt.Errorf("minUnhealthy %s: %w", least.String(), err)
	}
	return max(n, 1), nil
}
