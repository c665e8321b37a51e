// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/check"
)

// probeUp takes the host that is checked instead of pods from the member that v1alpha1 has it in.
func probeUp(p *v1alpha1.Probe) *autorebootv1.Probe {
	if p == nil {
		return nil
	}
	var tcp *common.TCPSocketAction
	var host *string
	if s := p.TCPSocket; s != nil {
		tcp, host = &s.TCPSocketAction, s.Host
	}
	out := &autorebootv1.Probe{Check: check.Up(&p.Probe, tcp)}
	if h := p.HTTPGet; h != nil && h.Host != nil {
		get := *h
		get.Host, host = nil, h.Host
		out.HTTPGet = &get
	}
	out.Host = host
	return out
}

// probeDown shows the host in the member that is set. v1alpha1 has none for grpc, and no Host header.
func probeDown(p *autorebootv1.Probe) *v1alpha1.Probe {
	if p == nil {
		return nil
	}
	out := &v1alpha1.Probe{Probe: check.Down(&p.Check)}
	if p.TCPSocket != nil {
		out.TCPSocket = &v1alpha1.TCPSocket{TCPSocketAction: *p.TCPSocket, Host: p.Host}
	}
	if h := p.HTTPGet; h != nil && (h.Host != nil || p.Host != nil) {
		get := *h
		get.Host = p.Host
		out.HTTPGet = &get
	}
	return out
}
