// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Sources know what ConfigMaps and Secrets hold.
type Sources interface {
	// Select returns the sources of a policy's namespace that carry labels.
	Select(ctx context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector) ([]sources.Ref, error)
	// Observe returns what all sources of a policy hold, in the order of wants.
	Observe(ctx context.Context, by types.NamespacedName, wants []sources.Want) ([]sources.State, error)
	// Forget drops the sources of a policy.
	Forget(by types.NamespacedName)
}

// Probes knows whether the Probe triggers fire.
type Probes interface {
	// Set says what is checked for a policy.
	Set(policy types.NamespacedName, wants []podprobe.Want)
	// Result is what a trigger says of a workload.
	Result(policy types.NamespacedName, trigger string, workload types.UID) podprobe.Result
	// Suspect says whether failures decide nothing now for some of what is checked for a policy.
	Suspect(policy types.NamespacedName) bool
	// Forget drops the checks of a policy.
	Forget(policy types.NamespacedName)
}

// withSuspicion is Health that others may find at fault.
type withSuspicion struct {
	Probes
	suspicions *probe.Suspicions
}

// Suspect says whether either does.
func (d withSuspicion) Suspect(policy types.NamespacedName) bool {
	return d.Probes.Suspect(policy) || d.suspicions.Any()
}

// Fingerprinter makes fingerprints that tell nothing without the key of the installation.
type Fingerprinter interface {
	Sum(domain string, parts ...[]byte) string
}

// Actor restarts workloads.
type Actor interface {
	// Do does one action for a policy.
	Do(ctx context.Context, policy *autorebootv1.RebootPolicy, action restart.Action, version string) ActionResult
}

// ActionResult is what came of an action.
type ActionResult struct {
	Outcome restart.Outcome
	// Generation of the workload after it was annotated.
	Generation int64
	// Budget is the disruption budget that refused an eviction; empty where it is not known.
	Budget string
	// Err is why it was not done, for the log; nil otherwise.
	Err error
}

// Ledger knows what is being disrupted, by whomever.
type Ledger interface {
	// Do lets a policy decide what it disrupts, while no other policy does.
	Do(policy disruption.Holder, group string, decide func(disruption.View) []disruption.Claim)
	// Restore sets what a policy disrupted when the process began.
	Restore(policy disruption.Holder, group string, claims []disruption.Claim)
	// Forget drops a policy.
	Forget(policy disruption.Holder)
}

var (
	_ Sources       = (*sources.Sources)(nil)
	_ Probes        = (*podprobe.Checks)(nil)
	_ Fingerprinter = (*fingerprint.Key)(nil)
	_ Ledger        = (*disruption.Ledger)(nil)
)
