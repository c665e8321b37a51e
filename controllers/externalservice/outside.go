// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Resolution knows what DNS names lead to.
type Resolution interface {
	// Set says which names an object has, and returns what is known of them, in their order.
	Set(key types.NamespacedName, names []resolution.Name) []resolution.State
	// ResolvedTime is when a name last resolved: a lookup that changes nothing reconciles nothing.
	ResolvedTime(key types.NamespacedName, endpoint string) time.Time
	// Forget drops the names of an object.
	Forget(key types.NamespacedName)
}

// Probes know which addresses are healthy.
type Probes interface {
	// Set says what the targets of an object are, and returns the health of each, in their order.
	Set(key types.NamespacedName, check probe.Check, targets []probe.Target) []probe.Health
	// Forget drops the targets of an object.
	Forget(key types.NamespacedName)
	// IsFrozen says whether failures decide nothing now for the targets of an object.
	IsFrozen(key types.NamespacedName) bool
}

// Policy says which addresses may be published and checked.
type Policy interface {
	// CheckPorts judges an address together with the ports that it is published with.
	CheckPorts(query egress.Query, ports []uint16) egress.Verdict
}

var (
	_ Resolution = (*resolution.Tracker)(nil)
	_ Probes     = (*probe.Prober)(nil)
	_ Policy     = (*egress.Policy)(nil)
)
