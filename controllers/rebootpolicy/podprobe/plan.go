// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Values of Result.Unsupported, beside networkingv1.ProbeDenied and probe.HostUnresolved.
const (
	// ExecUnsupported: the probe is a command, and commands are not run.
	ExecUnsupported = "ExecUnsupported"
	// HeaderRefused: a header of the probe is fixed, or of one connection, or no header at all.
	HeaderRefused = "HeaderRefused"
	// Invalid: the probe cannot be carried out as it is written, which admission refuses.
	Invalid = "Invalid"
)

// minPeriod is the shortest time between two checks of a pod.
const minPeriod = time.Second

// plan is a Probe in the prober's terms.
type plan struct {
	probe.Check

	host         string
	port         uint16
	minUnhealthy intstr.IntOrString
	unsupported  string
}

// IdentityOf returns a short hash of what a probe asks, whatever its thresholds and times are.
func IdentityOf(p *autorebootv1.Probe) string {
	if p == nil {
		return ""
	}
	asked, err := json.Marshal(autorebootv1.Probe{Exec: p.Exec, HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket, GRPC: p.GRPC})
	if err != nil {
		return "" // a Probe was JSON before
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:8])
}

// planOf returns the plan of a probe that has its defaults, or of none.
func planOf(p *autorebootv1.Probe) plan {
	if p == nil {
		return plan{unsupported: Invalid}
	}
	period, timeout := max(p.Period.Or(0), minPeriod), p.Timeout.Or(0)
	made := plan{
		Check: probe.Check{
			Interval: period, UnhealthyInterval: period, Timeout: min(timeout, period),
			HealthyThreshold: int(*p.SuccessThreshold), UnhealthyThreshold: int(*p.FailureThreshold),
		},
		minUnhealthy: *p.MinUnhealthy,
	}
	var port int32
	switch {
	case p.HTTPGet != nil:
		port, made.host = p.HTTPGet.Port, p.HTTPGet.Host
		made.setHTTP(p.HTTPGet)
	case p.TCPSocket != nil:
		port, made.host = p.TCPSocket.Port, p.TCPSocket.Host
	case p.GRPC != nil:
		port, made.host = p.GRPC.Port, p.GRPC.Host
		made.Kind, made.GRPC = probe.KindGRPC, probe.GRPC{Service: p.GRPC.Service}
	case p.Exec != nil:
		return plan{unsupported: ExecUnsupported}
	}
	if _, err := requiredUnhealthy(made.minUnhealthy, 1); err != nil || timeout <= 0 || port < 1 || port > math.MaxUint16 ||
		!isHostLike(made.host) {
		made.unsupported = Invalid
		return made
	}
	made.port = uint16(port)
	return made
}

func (p *plan) setHTTP(get *autorebootv1.HTTPGet) {
	p.Kind = probe.KindHTTP
	p.HTTP = probe.HTTP{
		Path: *get.Path, HTTPS: *get.Scheme == autorebootv1.SchemeHTTPS,
	}
	if p.HTTP.HTTPS {
		p.TLS = &probe.TLS{SkipVerify: true}
	}
	for _, given := range get.Headers {
		if strings.EqualFold(given.Name, "Host") && isHostLike(given.Value) {
			p.HTTP.Host = given.Value
			continue
		}
		header := probe.Header{Name: given.Name, Value: given.Value}
		if !header.Sendable() {
			p.unsupported = HeaderRefused
		}
		p.HTTP.Headers = append(p.HTTP.Headers, header)
	}
}

// isHostLike reports whether a text cannot be anything but a name, an address or one of them with a port.
func isHostLike(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`/\?#@"<>^{|}`+"`", r)
	})
}

// targets are what is checked of a workload, and how many pods have no IP to check.
func (p *plan) targets(pods []Pod) (all []probe.Target, without int) {
	all = make([]probe.Target, 0, len(pods))
	for _, pod := range pods {
		if !pod.IP.IsValid() {
			without++
			continue
		}
		all = append(all, probe.Target{ID: string(pod.UID), IP: pod.IP, Port: p.port, Authorized: true})
	}
	return all, without
}

// hostTarget is what is checked instead of pods.
func (p *plan) hostTarget() []probe.Target {
	if ip, err := netip.ParseAddr(p.host); err == nil {
		return []probe.Target{{IP: ip, Port: p.port}}
	}
	return []probe.Target{{Host: p.host, Port: p.port}}
}
