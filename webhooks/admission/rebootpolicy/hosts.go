// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// Policy decides about addresses. It is an *egress.Policy.
type Policy interface {
	// Synced reports whether the ranges of the cluster are known.
	Synced() bool
	// CheckPorts returns whether an address may be reached at all of its ports.
	CheckPorts(q egress.Query, ports []uint16) egress.Verdict
}

var _ Policy = (*egress.Policy)(nil)

// host is an address that is probed instead of the pods, or while a restart is in flight. Names are not among them: the
// addresses that they resolve to are checked at every connection.
type host struct {
	path    *field.Path
	address netip.AddrPort
	remedy  string
}

// hostsOf returns the addresses in a spec. Other texts are names, or left to the rules of the kind.
func hostsOf(spec *autorebootv1.RebootPolicySpec) []host {
	var hosts []host
	for i := range spec.Triggers {
		p := spec.Triggers[i].Probe
		if p == nil {
			continue
		}
		ip, err := netip.ParseAddr(ptr.Deref(p.Host, ""))
		if port := p.Port(); err == nil && port != nil {
			path := field.NewPath("spec", "triggers").Index(i).Child("probe", "host")
			hosts = append(hosts, host{path, netip.AddrPortFrom(ip, uint16(port.IntVal)), "leave host out to have every pod of the target asked itself"})
		}
	}
	if spec.Verification == nil {
		return hosts
	}
	for i := range spec.Verification.Probes {
		p := &spec.Verification.Probes[i]
		check := p.Check()
		ip, err := netip.ParseAddr(p.Host)
		if port := check.Port(); err == nil && port != nil {
			path := field.NewPath("spec", "verification", "probes").Index(i).Child("host")
			hosts = append(hosts, host{path, netip.AddrPortFrom(ip, uint16(port.IntVal)), "name the host that clients outside of the cluster use"})
		}
	}
	return hosts
}

// hosts refuses addresses that the egress policy keeps closed to the operator. No right of the writer opens
// them: the operator sees more of the cluster than the writer's pods do. What an update leaves as it is stays.
func (a *authorizer) hosts(req admission.Request, obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	stored := map[netip.AddrPort]bool{}
	if old != nil && !starts(obj, old) {
		for _, h := range hostsOf(&old.Spec) {
			stored[h.address] = true
		}
	}
	var errs field.ErrorList
	for _, h := range hostsOf(&obj.Spec) {
		if stored[h.address] {
			continue
		}
		if !a.policy.Synced() {
			return append(errs, field.InternalError(h.path, authorization.ErrUnsynced))
		}
		verdict := a.policy.CheckPorts(egress.Query{Namespace: req.Namespace, IP: h.address.Addr()}, []uint16{h.address.Port()})
		if !verdict.Allowed {
			errs = append(errs, field.Forbidden(h.path, fmt.Sprintf(
				"%s %s (%s); %s, or have an administrator change the operator's egress policy",
				h.address, verdict.Detail, verdict.Reason, h.remedy)))
		}
	}
	return errs
}
