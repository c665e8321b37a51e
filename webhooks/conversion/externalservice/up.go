// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// up is the plain mapping to the hub. Of the status of v1alpha1 it maps what both versions have.
func up(s spoke) hub {
	var h hub
	upInto(s, &h)
	h.room = nil
	return h
}

// upInto is up into the memory of another form.
func upInto(s spoke, into *hub) {
	h := hub{room: into.room}
	if h.room == nil {
		h.room = new(room)
	}
	h.Spec = impliedSpec()
	h.Spec.Ports = upPorts(s.Spec.Ports)
	h.Spec.Endpoints = h.room.endpointsOf(s.Spec.Hosts, s.Spec.Probe != nil)
	if s.Spec.RefreshSeconds != nil {
		every := seconds(*s.Spec.RefreshSeconds)
		h.Spec.Resolution = impliedResolution.DeepCopy()
		h.Spec.Resolution.MinTTL, h.Spec.Resolution.MaxTTL = &every, ptr.To(every)
	}
	if s.Spec.Probe != nil {
		h.Spec.HealthCheck = upProbe(s.Spec.Probe, h.Spec.Ports)
	}
	h.Status.ObservedGeneration, h.Status.Conditions = s.Status.ObservedGeneration, s.Status.Conditions
	*into = h
}

// impliedSpec is a copy of implied, whose values others may change.
func impliedSpec() v1.ExternalServiceSpec { return *implied.DeepCopy() }

// upPorts makes a port of every name, in their order.
func upPorts(numbers map[string]v1alpha1.PortNumber) []v1.ServicePort {
	if len(numbers) == 0 {
		return nil
	}
	ports := make([]v1.ServicePort, 0, len(numbers))
	for name, number := range numbers {
		ports = append(ports, v1.ServicePort{Name: name, Port: int32(number)})
	}
	slices.SortFunc(ports, func(a, b v1.ServicePort) int { return strings.Compare(a.Name, b.Name) })
	return ports
}

// isAddress looks at the end first, since to be told why a name is no address costs more.
func isAddress(host string) bool {
	if host == "" || !strings.Contains(host, ":") && (host[len(host)-1] < '0' || host[len(host)-1] > '9') {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func upProbe(p *v1alpha1.Probe, ports []v1.ServicePort) *v1.HealthCheck {
	h := impliedCheck.DeepCopy()
	h.Interval, h.Timeout = optionalSeconds(p.PeriodSeconds), optionalSeconds(p.TimeoutSeconds)
	h.HealthyThreshold, h.UnhealthyThreshold = p.SuccessThreshold, p.FailureThreshold
	if number, ok := probePort(p); ok {
		h.Port = portName(ports, number)
	}
	upHandlers(h, p)
	return h
}

func upHandlers(h *v1.HealthCheck, p *v1alpha1.Probe) {
	if p.TCPSocket != nil {
		h.TCP = &v1.TCPCheck{}
	}
	if get := p.HTTPGet; get != nil {
		h.HTTP = &v1.HTTPCheck{Path: get.Path, Host: get.Host, Scheme: (*v1.HTTPScheme)(get.Scheme)}
	}
	if p.GRPC != nil {
		h.GRPC = &v1.GRPCCheck{Service: p.GRPC.Service}
	}
}

// probePort is the port of the probe's handler; ok is false where it has none.
func probePort(p *v1alpha1.Probe) (v1alpha1.PortNumber, bool) {
	switch {
	case p == nil:
	case p.TCPSocket != nil:
		return p.TCPSocket.Port, true
	case p.HTTPGet != nil:
		return p.HTTPGet.Port, true
	case p.GRPC != nil:
		return p.GRPC.Port, true
	}
	return 0, false
}

// portName finds a port by number; it is empty where there is none.
func portName(ports []v1.ServicePort, number v1alpha1.PortNumber) string {
	for _, port := range ports {
		if port.Port == int32(number) {
			return port.Name
		}
	}
	return ""
}

func seconds(n int32) common.Duration {
	return common.DurationOf(time.Duration(n) * time.Second)
}

func optionalSeconds(n *int32) *common.Duration {
	if n == nil {
		return nil
	}
	return ptr.To(seconds(*n))
}
