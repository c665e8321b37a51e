// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// IdentityOf returns a short hash of what a probe asks, whatever its thresholds and times are.
func IdentityOf(p *autorebootv1.Probe) string {
	asked, err := json.Marshal(autorebootv1.Probe{Check: p.Request(), Host: p.Host})
	if err != nil {
		return "" // a Probe was JSON before
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:8])
}

// checkOf returns the check of a probe, which has its defaults. HTTPS without tls verifies nothing, as the kubelet does.
func checkOf(p *autorebootv1.Probe, secrets probe.Secrets) probe.Check {
	check := probe.Check{Check: p.Check, Secrets: secrets}
	if h := p.HTTPGet; h != nil && *h.Scheme == common.SchemeHTTPS && p.TLS == nil {
		check.TLS = &common.CheckTLS{InsecureSkipVerify: ptr.To(true)}
	}
	return check
}

// targets returns the pods of a workload to check, and the number of pods without an IP or port.
func targets(pods []Pod) (all []probe.Target, without int) {
	all = make([]probe.Target, 0, len(pods))
	for _, pod := range pods {
		if !pod.IP.IsValid() || pod.Port == 0 {
			without++
			continue
		}
		all = append(all, probe.Target{ID: string(pod.UID), IP: pod.IP, Port: pod.Port, Authorized: true})
	}
	return all, without
}

// hostTarget returns the target of a probe with a host, which replaces the pods. Its port is a number.
func hostTarget(p *autorebootv1.Probe) []probe.Target {
	target := probe.Target{Port: uint16(p.Port().IntVal)}
	if ip, err := netip.ParseAddr(*p.Host); err == nil {
		target.IP = ip
	} else {
		target.Host = *p.Host
	}
	return []probe.Target{target}
}
