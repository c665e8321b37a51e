// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

// part is a Deployment of a layout, with the one container that its pods have.
type part struct {
	name, container string
	replicas        int
}

// layout is one of the ways to deploy Fairlead that are shipped.
type layout struct {
	// folder is its kustomization in config.
	folder string
	parts  []part
}

// single has one Deployment. All its replicas serve webhooks, and one of them reconciles.
var single = &layout{folder: "default", parts: []part{{name, "manager", 3}}}

// split has a Deployment for each. As many replicas serve webhooks as in single.
var split = &layout{folder: "split", parts: []part{{name, "manager", 2}, {service, "webhook", 3}}}

// replicas is how many pods there are in all.
func (l *layout) replicas() int {
	sum := 0
	for _, p := range l.parts {
		sum += p.replicas
	}
	return sum
}
