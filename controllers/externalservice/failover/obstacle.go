// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
)

// obstacle is the outcome of a fault that must not begin or go on, and why. It is empty where the fault may.
type obstacle struct{ outcome, why string }

// Dependants are the workloads that depend on an ExternalService.
type Dependants struct {
	// All are in the order of their claim to a place in the status, each StayedReady, UnreadyBefore or Unreadable.
	All []networkingv1.FaultDependant
	// Disrupted names the one that is being restarted or loses pods to a ChaosPod, or is empty.
	Disrupted string
	// Mistakes are the mistakes in annotations that declare dependants, as a message; empty if there are none.
	Mistakes string
	// AreUnknown means that they could not be read.
	AreUnknown bool
}

// blackoutGrace is how long a fault goes on in a new process that has not read the cluster's blackouts yet.
const blackoutGrace = 15 * time.Second

// unknown returns what must be known before a fault begins; "" for nothing.
func (in *Input) unknown(now time.Time) string {
	for e, a := range endpoints.Active(in.Observed.Endpoints) {
		if a.Health.State == networkingv1.AddressUnknown {
			return fmt.Sprintf("endpoint %q: %s was not checked yet", e.Name, a.IP)
		}
	}
	switch {
	case in.Blackouts.Unknown != "":
		return in.Blackouts.Message(now)
	case in.Dependants.AreUnknown:
		return "its dependants cannot be read" // which keeps no fault from ending
	}
	return ""
}

// obstacleTo returns why a fault must not begin or go on. isFirm means that blackouts which are not known yet count as
// well.
func (in *Input) obstacleTo(f *networkingv1.FaultStatus, c criteria, actual *Choice, isFirm bool) obstacle {
	if why := in.Blackouts.Message(in.Now); why != "" && (isFirm || in.Blackouts.Unknown == "") {
		return obstacle{networkingv1.FaultOutcomeBlackout, why}
	}
	all := in.Observed.Endpoints
	drains := slices.ContainsFunc(all, func(e endpoints.Endpoint) bool { return e.Name == f.Endpoint && !e.IsDrained && len(e.Addresses) > 0 })
	switch {
	case in.IsExempt:
		return obstacle{networkingv1.FaultOutcomeSpecChanged, "admission does not check the rights of users in namespace " + in.Object.Namespace}
	case *in.Object.Spec.Suspend:
		return obstacle{networkingv1.FaultOutcomeSpecChanged, "spec.suspend is true"}
	case in.Object.Spec.HealthCheck == nil:
		return obstacle{networkingv1.FaultOutcomeSpecChanged, "there is no healthCheck: a real failure could not be told from the fault"}
	case f.Lasts() && f.Priority != nil && c.active != nil && *f.Priority != *c.active:
		return obstacle{networkingv1.FaultOutcomeSpecChanged, fmt.Sprintf("an edit of the spec has renumbered or removed priority %d", *f.Priority)}
	case f.Type == networkingv1.FaultDrain && !drains:
		return obstacle{networkingv1.FaultOutcomeSpecChanged, fmt.Sprintf("there is no endpoint %q that is Active and has addresses", f.Endpoint)}
	}
	if why := realFailure(&in.Observed, actual); why != "" {
		return obstacle{networkingv1.FaultOutcomeRealFailure, why}
	}
	if d := withFault(f, all, c); f.Type != networkingv1.FaultBlackHole && d.ReadyCount() == 0 {
		return obstacle{networkingv1.FaultOutcomeRealFailure, "no other endpoint is healthy that could take over; BlackHole takes all out"}
	}
	return obstacle{}
}

// realFailure returns what has failed besides the fault, or "".
func realFailure(o *Observation, actual *Choice) string {
	switch {
	case o.UncheckedReason != "":
		return o.UncheckedReason
	case o.IsSuspect:
		return "so many checks fail at once that the fault is probably the operator's own"
	case actual.Active == nil:
		return "there is no address"
	case *actual.Active > LowestPriority(o.Endpoints):
		return fmt.Sprintf("it has failed over to priority %d", *actual.Active)
	}
	for i := range o.Endpoints {
		if e := &o.Endpoints[i]; e.State != nil && !e.IsDrained && !endpoints.IsResolved(e.Reason()) {
			return e.ResolveMessage(e.Reason())
		}
	}
	for e, a := range endpoints.Active(o.Endpoints) {
		if a.Health.State == networkingv1.AddressUnhealthy {
			return fmt.Sprintf("endpoint %q: %s is unhealthy (%s)", e.Name, a.IP, a.Health.Reason)
		}
	}
	return ""
}
