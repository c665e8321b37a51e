// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// hub and spoke are the two forms without type and metadata.
type (
	hub struct {
		Spec   v1.ExternalServiceSpec   `json:"spec"`
		Status v1.ExternalServiceStatus `json:"status"`
		room   *room
	}
	spoke struct {
		Spec   v1alpha1.ExternalServiceSpec   `json:"spec"`
		Status v1alpha1.ExternalServiceStatus `json:"status"`
	}
)

// New makes the converter of the kind.
func New() *hubspoke.Converter {
	return hubspoke.New(hubspoke.Pair[hub, spoke]{
		Group:        v1.GroupVersion.Group,
		Kind:         "ExternalService",
		Hub:          v1.GroupVersion.Version,
		Spoke:        v1alpha1.GroupVersion.Version,
		Up:           up,
		UpInto:       upInto,
		Down:         down,
		Normalize:    normalize,
		OverlayHub:   overlayHub,
		OverlaySpoke: overlaySpoke,
	})
}

// defaulted fills in the defaults of v1.
func defaulted(h hub) hub {
	obj := v1.ExternalService{Spec: h.Spec}
	rules.Default(&obj)
	h.Spec = obj.Spec
	return h
}

// normalize makes explicit what v1 implies where a probe is silent. What that is the mapping says,
// there and back, since some defaults depend on what is given: a timeout never exceeds its period.
func normalize(s, again spoke) spoke {
	if s.Spec.Probe == nil || again.Spec.Probe == nil {
		return s
	}
	probe, implied := *s.Spec.Probe, again.Spec.Probe
	fill(&probe.PeriodSeconds, implied.PeriodSeconds)
	fill(&probe.TimeoutSeconds, implied.TimeoutSeconds)
	fill(&probe.SuccessThreshold, implied.SuccessThreshold)
	fill(&probe.FailureThreshold, implied.FailureThreshold)
	if probe.HTTPGet != nil && implied.HTTPGet != nil {
		get := *probe.HTTPGet
		fill(&get.Path, implied.HTTPGet.Path)
		fill(&get.Scheme, implied.HTTPGet.Scheme)
		probe.HTTPGet = &get
	}
	s.Spec.Probe = &probe
	return s
}

func fill[T any](value **T, implied *T) {
	if *value == nil {
		*value = implied
	}
}
