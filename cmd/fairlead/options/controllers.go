// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net/netip"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/cron"
)

// maxDrainPeriod bounds how long a deletion may be held.
const maxDrainPeriod = time.Hour

// ExternalServices configures how what is outside the cluster is looked up and checked.
type ExternalServices struct {
	// Nameservers answer for DNS names, as address or address:port (53). Empty means those of
	// /etc/resolv.conf, which is read again when it changes. Search lists never apply.
	Nameservers []string `json:"nameservers,omitempty"`

	// ClusterDomain is the DNS domain of the cluster. Names that lead into it are refused. The
	// default is cluster.local.
	ClusterDomain string `json:"clusterDomain,omitempty"`

	// ResolveWorkers is how many names are looked up at once. Defaults to 64.
	ResolveWorkers int `json:"resolveWorkers,omitempty"`

	// ProbeWorkers is how many health checks run at once; one namespace takes at most half of
	// them. Defaults to 1024. A check that hangs holds its place for the check's timeout.
	ProbeWorkers int `json:"probeWorkers,omitempty"`

	// DrainPeriod is how long the endpoints of a deleted ExternalService are terminating
	// before its Service goes. Defaults to 5s; 0 does not wait.
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
	errs = append(errs, subdomain(path.Child("clusterDomain"), e.ClusterDomain)...)
	errs = append(errs, within(path.Child("resolveWorkers"), e.ResolveWorkers, 1, 4096)...)
	errs = append(errs, within(path.Child("probeWorkers"), e.ProbeWorkers, 2, 65536)...)
	if d := e.DrainPeriod.Duration; d < 0 || d > maxDrainPeriod {
		errs = append(errs, field.Invalid(path.Child("drainPeriod"), d.String(), "must be from 0 to "+maxDrainPeriod.String()))
	}
	return errs
}

const (
	// SourcesWatch watches the metadata of all ConfigMaps and Secrets, which needs the right to list
	// them, and reads those that a policy refers to.
	SourcesWatch = "Watch"
	// SourcesPoll reads the same ones at an interval, with the right to get each, and lists none.
	SourcesPoll = "Poll"
)

// RebootPolicies configures how workloads are restarted.
type RebootPolicies struct {
	// MaxRestarts is how many workloads of the whole cluster restart at once. Defaults to 10.
	MaxRestarts int `json:"maxRestarts,omitempty"`

	// SlotTimeout is how long a restart or kill counts for MaxRestarts at least. Of those that last longer, a namespace
	// has a quarter of MaxRestarts counted, and none after an hour, so that what cannot end holds up no other
	// namespace. Defaults to 2m.
	SlotTimeout metav1.Duration `json:"slotTimeout,omitempty"`

	// Sources is how changes of ConfigMaps and Secrets are noticed: Watch, which is the default, or
	// Poll.
	Sources string `json:"sources,omitempty"`

	// SourcesPollInterval is the time between two reads of a source under Poll. Defaults to 30s.
	SourcesPollInterval metav1.Duration `json:"sourcesPollInterval,omitempty"`

	// ProbeWorkers is how many checks of Probe triggers run at once; one namespace takes at most half
	// of them. Defaults to 256.
	ProbeWorkers int `json:"probeWorkers,omitempty"`

	// FingerprintSecret is the Secret of the operator's namespace with the key of the fingerprints. It
	// is made where there is none. Defaults to fairlead-fingerprint-key.
	FingerprintSecret string `json:"fingerprintSecret,omitempty"`
}

func defaultRebootPolicies() RebootPolicies {
	return RebootPolicies{
		MaxRestarts:         10,
		SlotTimeout:         duration(2 * time.Minute),
		Sources:             SourcesWatch,
		SourcesPollInterval: duration(30 * time.Second),
		ProbeWorkers:        256,
		FingerprintSecret:   "fairlead-fingerprint-key",
	}
}

func (r RebootPolicies) validate(path *field.Path) field.ErrorList {
	errs := within(path.Child("maxRestarts"), r.MaxRestarts, 1, 1000)
	if d := r.SlotTimeout.Duration; d < time.Second || d > time.Hour {
		errs = append(errs, field.Invalid(path.Child("slotTimeout"), d.String(), "must be from 1s to 1h"))
	}
	if r.Sources != SourcesWatch && r.Sources != SourcesPoll {
		errs = append(errs, field.NotSupported(path.Child("sources"), r.Sources, []string{SourcesWatch, SourcesPoll}))
	}
	if d := r.SourcesPollInterval.Duration; d < time.Second || d > time.Hour {
		errs = append(errs, field.Invalid(path.Child("sourcesPollInterval"), d.String(), "must be from 1s to 1h"))
	}
	errs = append(errs, within(path.Child("probeWorkers"), r.ProbeWorkers, 2, 65536)...)
	return append(errs, label(path.Child("fingerprintSecret"), r.FingerprintSecret)...)
}

// Calendar configures when nothing is disrupted in the whole cluster: no restart begins, and no chaos.
type Calendar struct {
	// Blackouts that always hold, at most 100. Defaults to none.
	Blackouts []cron.Blackout `json:"blackouts,omitempty"`

	// ConfigMap is the ConfigMap of the operator's namespace that adds blackouts, under the key
	// blackouts, at most 100. It is followed, and need not exist. Defaults to fairlead-calendar;
	// "" follows none.
	ConfigMap string `json:"configMap"`
}

func (c Calendar) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := cron.NewBlackouts(c.Blackouts); err != nil {
		errs = append(errs, field.Invalid(path.Child("blackouts"), len(c.Blackouts), err.Error()))
	}
	if c.ConfigMap == "" {
		return errs
	}
	return append(errs, subdomain(path.Child("configMap"), c.ConfigMap)...)
}
