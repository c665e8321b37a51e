// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Summary is how many targets of an object have which State.
type Summary struct {
	Healthy, Unhealthy, Unknown int
	// NotProbed is why none can be asked: ProbeDenied or HostUnresolved. It is empty where any can, and
	// where there are none.
	NotProbed string
}

// Summary counts the targets of an object as they are now.
func (p *Prober) Summary(key types.NamespacedName) Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c Summary
	o, ok := p.objects[key]
	if !ok {
		return c
	}
	askable := false
	for _, t := range o.targets {
		switch t.state() {
		case networkingv1.AddressHealthy:
			c.Healthy++
		case networkingv1.AddressUnhealthy:
			c.Unhealthy++
		default:
			c.Unknown++
		}
		if !t.isNotProbed() {
			askable = true
		} else if c.NotProbed == "" {
			c.NotProbed = t.result.reason()
		}
	}
	if askable {
		c.NotProbed = ""
	}
	return c
}
