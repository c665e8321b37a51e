// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// RebootPolicyDigest names what of a spec is approved: what is done to what and in whose name, and
// what is read for it. When and how carefully that happens is for whoever may write the policy.
func RebootPolicyDigest(spec *autorebootv1.RebootPolicySpec) string {
	var p parts
	if spec.ServiceAccountName != "" {
		p.add("serviceAccount", spec.ServiceAccountName)
	}
	if s := spec.Strategy; s != nil && s.Type != autorebootv1.StrategyRolloutRestart {
		p.add("strategy", s.Type)
	}
	for i := range spec.Targets {
		t := &spec.Targets[i]
		p.add("target", t.Kind, t.Name, t.Selector)
	}
	for i := range spec.Triggers {
		trigger(&p, &spec.Triggers[i])
	}
	for i := range spec.Gates {
		g := &spec.Gates[i]
		p.add("gate", g.Type, g.Kind, g.Name, g.Selector)
	}
	return p.digest()
}

// trigger adds what a trigger reads or runs for the writer. The pods of a target are checked for
// whoever may restart it; a host is judged by the egress policy at every connection.
func trigger(p *parts, t *autorebootv1.Trigger) {
	if c := t.ConfigChange; c != nil {
		for i := range c.Sources {
			s := &c.Sources[i]
			p.add("source", s.Kind, s.Name, s.Selector, append([]string{}, slices.Sorted(slices.Values(s.Keys))...))
		}
	}
	if c := t.CertificateRenewal; c != nil {
		p.add("certificate", c.SecretName, ptr.Deref(c.Key, rebootpolicy.DefaultTLSKey))
	}
	if c := t.Probe; c != nil && c.Exec != nil {
		p.add("exec", c.Exec.Container, c.Exec.Command)
	}
	if e := t.EndpointsChange; e != nil {
		p.add("externalService", e.ExternalServiceName)
	}
}

// RebootPolicyValue is the value of the annotation by which user is known to be entitled to what
// policy does as it is now.
func RebootPolicyValue(policy *autorebootv1.RebootPolicy, user string) string {
	return Value(user, RebootPolicyDigest(&policy.Spec))
}

// RebootPolicyApproved says whether an approval is on policy that covers it as it is now. Unasked are
// the namespaces whose writers admission never asks, as the webhook configurations leave them out:
// nobody approves there.
func RebootPolicyApproved(policy *autorebootv1.RebootPolicy, unasked ...string) bool {
	return !slices.Contains(unasked, policy.Namespace) &&
		Covers(policy.Annotations[common.ApprovedByAnnotation], RebootPolicyDigest(&policy.Spec))
}
