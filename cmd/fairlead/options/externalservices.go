// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net/netip"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxDrainPeriod bounds how long a deletion may be held.
const maxDrainPeriod = time.Hour

// ExternalServices says how what is outside the cluster is looked up and checked.
type ExternalServices struct {
	// Nameservers answer for DNS names, as address or address:port (53). Empty means those of
	// /etc/resolv.conf, which is read again when it changes. Search lists never apply.
	Nameservers []string `json:"nameservers,omitempty"`

	// ClusterDomain is the DNS domain of the cluster. Names that lead into it are refused. The
	// default is cluster.local.
	ClusterDomain string `json:"clusterDomain,omitempty"`

	// ResolveWorkers is how many names are looked up at once. The default is 64.
	ResolveWorkers int `json:"resolveWorkers,omitempty"`

	// ProbeWorkers is how many health checks run at once; one namespace takes at most half of
	// them. The default is 1024. A check that hangs holds its place for the check's timeout.
	ProbeWorkers int `json:"probeWorkers,omitempty"`

	// DrainPeriod is how long the endpoints of a deleted ExternalService stand as terminating
	// before its Service goes. The default is 5s; 0 does not wait.
	DrainPeriod metav1.Duration `json:"drainPeriod,omitempty"`
}

func defaultExternalServices() ExternalServices {
	return ExternalServices{
		ClusterDomain:  "cluster.local",
		ResolveWorkers: 64,
		ProbeWorkers:   1024,
		DrainPeriod:    duration(5 * time.Second),
	}
}

// NameserverAddresses are the nameservers with their ports; nil where none is configured.
func (e ExternalServices) NameserverAddresses() ([]netip.AddrPort, error) {
	var servers []netip.AddrPort
	for _, text := range e.Nameservers {
		server, err := netip.ParseAddrPort(text)
		if err != nil {
			var address netip.Addr
			if address, err = netip.ParseAddr(strings.Trim(text, "[]")); err != nil {
				return nil, err
			}
			server = netip.AddrPortFrom(address, 53)
		}
		servers = append(servers, server)
	}
	return servers, nil
}

func (e ExternalServices) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, text := range e.Nameservers {
		if _, err := (ExternalServices{Nameservers: []string{text}}).NameserverAddresses(); err != nil {
			errs = append(errs, field.Invalid(path.Child("nameservers").Index(i), text, "must be an IP address, or address:port"))
		}
	}
	for _, problem := range validation.IsDNS1123Subdomain(e.ClusterDomain) {
		errs = append(errs, field.Invalid(path.Child("clusterDomain"), e.ClusterDomain, problem))
	}
	errs = append(errs, within(path.Child("resolveWorkers"), e.ResolveWorkers, 1, 4096)...)
	errs = append(errs, within(path.Child("probeWorkers"), e.ProbeWorkers, 2, 65536)...)
	if d := e.DrainPeriod.Duration; d < 0 || d > maxDrainPeriod {
		errs = append(errs, field.Invalid(path.Child("drainPeriod"), d.String(), "must be from 0 to "+maxDrainPeriod.String()))
	}
	return errs
}
