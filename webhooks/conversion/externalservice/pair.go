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
		CompleteHub:  complete,
		Whole:        whole,
		OverlayHub:   overlayHub,
		OverlaySpoke: overlaySpoke,
	})
}

// implied is what every v1alpha1 object means and cannot say: the defaults of v1 that hold whatever
// else is set. Those of the blocks belong to the probe and to refreshSeconds.
var implied, impliedCheck, impliedResolution = func() (v1.ExternalServiceSpec, v1.HealthCheck, v1.Resolution) {
	var bare hub
	complete(&bare)
	blocks := hub{Spec: v1.ExternalServiceSpec{HealthCheck: new(v1.HealthCheck), Resolution: new(v1.Resolution)}}
	complete(&blocks)
	check, resolution := blocks.Spec.HealthCheck, blocks.Spec.Resolution
	return bare.Spec, v1.HealthCheck{UnhealthyInterval: check.UnhealthyInterval, JitterPercent: check.JitterPercent},
		v1.Resolution{OnFailure: resolution.OnFailure, KeepLastFor: resolution.KeepLastFor}
}()

// whole says that a hub form has all that up would write of itself.
func whole(h *hub) bool {
	s := &h.Spec
	if s.Suspend == nil || s.DeletionPolicy == nil || s.Service == nil || s.Service.Type == nil {
		return false
	}
	if check := s.HealthCheck; check != nil && (check.UnhealthyInterval == nil || check.JitterPercent == nil) {
		return false
	}
	return refresh(s.Resolution) == nil || s.Resolution.OnFailure != nil && s.Resolution.KeepLastFor != nil
}

// complete fills in the defaults of v1, but inside list items: a value that stands there was written by
// someone.
func complete(h *hub) {
	obj := v1.ExternalService{Spec: h.Spec}
	rules.DefaultMaps(&obj)
	h.Spec = obj.Spec
}
