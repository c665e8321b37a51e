// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import "slices"

// role is the duty of a replica.
type role int

const (
	// whole replicas answer webhooks, and one of them reconciles.
	whole role = iota
	// serves is a replica that only answers webhooks.
	serves
	// reconciles is one that only reconciles, when it leads.
	reconciles
)

// args of a replica that has the role.
func (r role) args() []string {
	switch r {
	case serves:
		return []string{"--set=controllers.enabled=false"}
	case reconciles:
		return []string{"--set=webhook.enabled=false"}
	case whole:
	}
	return nil
}

// roles are those of the replicas that a scenario begins with, in the order of their start.
func roles(s scenario) []role {
	if s.split {
		return slices.Concat(slices.Repeat([]role{serves}, replicas), slices.Repeat([]role{reconciles}, reconcilers))
	}
	return slices.Repeat([]role{whole}, replicas)
}
