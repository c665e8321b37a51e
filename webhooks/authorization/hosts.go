// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// host is an address that a policy has probed instead of its pods. Names are no part of it: where
// they lead is judged at every connection.
type host struct {
	path *field.Path
	ip   netip.Addr
	port uint16
}

// hostsOf lists the addresses that stand in a spec. Texts that are no address are names, or left to
// the rules of the kind.
func hostsOf(spec *autorebootv1.RebootPolicySpec) []host {
	var hosts []host
	for i := range spec.Triggers {
		p := spec.Triggers[i].Probe
		if p == nil {
			continue
		}
		at := field.NewPath("spec", "triggers").Index(i).Child("probe")
		add := func(member, name string, port int32) {
			if ip, err := netip.ParseAddr(name); err == nil {
				hosts = append(hosts, host{at.Child(member, "host"), ip, uint16(port)})
			}
		}
		if h := p.HTTPGet; h != nil {
			add("httpGet", h.Host, h.Port)
		}
		if s := p.TCPSocket; s != nil {
			add("tcpSocket", s.Host, s.Port)
		}
		if g := p.GRPC; g != nil {
			add("grpc", g.Host, g.Port)
		}
	}
	return hosts
}

// hosts refuses addresses that the egress policy keeps closed to the operator. No right of the writer
// opens them: a probe answers the operator, which sees more of the cluster than the writer's pods do.
// Of an update it judges what changed.
func (a *RebootPolicy) hosts(req admission.Request, obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	type place struct {
		ip   netip.Addr
		port uint16
	}
	stood := map[place]bool{}
	if old != nil && !woken(obj, old) {
		for _, h := range hostsOf(&old.Spec) {
			stood[place{h.ip, h.port}] = true
		}
	}
	var errs field.ErrorList
	for _, h := range hostsOf(&obj.Spec) {
		if stood[place{h.ip, h.port}] {
			continue
		}
		if !a.options.Policy.Synced() {
			return append(errs, field.InternalError(h.path, errUnsynced))
		}
		verdict := a.options.Policy.CheckPorts(egress.Query{Namespace: req.Namespace, IP: h.ip}, []uint16{h.port})
		if !verdict.Allowed {
			errs = append(errs, field.Forbidden(h.path, fmt.Sprintf(
				"%s %s (%s); leave host out to have every pod of the target asked itself, or have an administrator change the operator's egress policy",
				netip.AddrPortFrom(h.ip, h.port), verdict.Detail, verdict.Reason)))
		}
	}
	return errs
}
