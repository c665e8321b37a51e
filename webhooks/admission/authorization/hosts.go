// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// Policy is an *egress.Policy.
type Policy interface {
	// Synced reports whether the ranges of the cluster are known.
	Synced() bool
	// CheckPorts returns whether the operator may connect to an address at all of these ports.
	CheckPorts(q egress.Query, ports []uint16) egress.Verdict
}

var _ Policy = (*egress.Policy)(nil)

// Host is an address in a spec to which the operator connects.
type Host struct {
	path    *field.Path
	address netip.AddrPort
	remedy  string
}

// Hosts are the addresses of a spec. Names are not included: the addresses that they resolve to are checked at every
// connection.
type Hosts []Host

// Add adds a host if it is an address and has a port. It ignores names, and texts that the rules of the kind refuse.
func (h *Hosts) Add(path *field.Path, host string, port *intstr.IntOrString, remedy string) {
	if ip, err := netip.ParseAddr(host); err == nil && port != nil {
		*h = append(*h, Host{path, netip.AddrPortFrom(ip, uint16(port.IntVal)), remedy})
	}
}

// AddVerification adds the hosts of verification.probes; v may be nil.
func (h *Hosts) AddVerification(spec *field.Path, v *common.Verification) {
	if v == nil {
		return
	}
	for i := range v.Probes {
		check := v.Probes[i].Check()
		h.Add(spec.Child("verification", "probes").Index(i).Child("host"), v.Probes[i].Host, check.Port(),
			"name the host that clients outside of the cluster use")
	}
}

// Check returns an error for each address that the egress policy denies to the operator, except for those in stored. No
// right of the writer allows them: the operator reaches more of the cluster than the writer's pods do.
func (h Hosts) Check(policy Policy, req admission.Request, stored Hosts) field.ErrorList {
	known := map[netip.AddrPort]bool{}
	for _, host := range stored {
		known[host.address] = true
	}
	var errs field.ErrorList
	for _, host := range h {
		if known[host.address] {
			continue
		}
		if !policy.Synced() {
			return append(errs, field.InternalError(host.path, ErrUnsynced))
		}
		verdict := policy.CheckPorts(egress.Query{Namespace: req.Namespace, IP: host.address.Addr()}, []uint16{host.address.Port()})
		if !verdict.Allowed {
			errs = append(errs, field.Forbidden(host.path, fmt.Sprintf(
				"%s %s (%s); %s, or have an administrator change the operator's egress policy",
				host.address, verdict.Detail, verdict.Reason, host.remedy)))
		}
	}
	return errs
}
