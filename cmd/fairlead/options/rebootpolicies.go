// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// SourcesWatch watches the metadata of all ConfigMaps and Secrets, which needs the right to list
	// them, and reads those that a policy refers to.
	SourcesWatch = "Watch"
	// SourcesPoll reads the same ones at an interval, with the right to get each, and lists none.
	SourcesPoll = "Poll"
)

// RebootPolicies says how workloads are restarted.
type RebootPolicies struct {
	// MaxRestarts is how many workloads of the whole cluster restart at once. The default is 10.
	MaxRestarts int `json:"maxRestarts,omitempty"`

	// Sources is how changes of ConfigMaps and Secrets are noticed: Watch, which is the default, or
	// Poll.
	Sources string `json:"sources,omitempty"`

	// SourcesPollInterval is the time between two reads of a source under Poll. The default is 30s.
	SourcesPollInterval metav1.Duration `json:"sourcesPollInterval,omitempty"`

	// ProbeWorkers is how many checks of Probe triggers run at once; one namespace takes at most half
	// of them. The default is 256.
	ProbeWorkers int `json:"probeWorkers,omitempty"`

	// FingerprintSecret is the Secret of the operator's namespace with the key of the fingerprints. It
	// is made where there is none. The default is fairlead-fingerprint-key.
	FingerprintSecret string `json:"fingerprintSecret,omitempty"`
}

func defaultRebootPolicies() RebootPolicies {
	return RebootPolicies{
		MaxRestarts:         10,
		Sources:             SourcesWatch,
		SourcesPollInterval: duration(30 * time.Second),
		ProbeWorkers:        256,
		FingerprintSecret:   "fairlead-fingerprint-key",
	}
}

func (r RebootPolicies) validate(path *field.Path) field.ErrorList {
	errs := within(path.Child("maxRestarts"), r.MaxRestarts, 1, 1000)
	if r.Sources != SourcesWatch && r.Sources != SourcesPoll {
		errs = append(errs, field.NotSupported(path.Child("sources"), r.Sources, []string{SourcesWatch, SourcesPoll}))
	}
	if d := r.SourcesPollInterval.Duration; d < time.Second || d > time.Hour {
		errs = append(errs, field.Invalid(path.Child("sourcesPollInterval"), d.String(), "must be from 1s to 1h"))
	}
	errs = append(errs, within(path.Child("probeWorkers"), r.ProbeWorkers, 2, 65536)...)
	return append(errs, label(path.Child("fingerprintSecret"), r.FingerprintSecret)...)
}
