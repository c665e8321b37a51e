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
		arena  *endpointArena
	}
	spoke struct {
		Spec   v1alpha1.ExternalServiceSpec   `json:"spec"`
		Status v1alpha1.ExternalServiceStatus `json:"status"`
	}
)

// New returns the converter of the kind.
func New() *hubspoke.Converter {
	return hubspoke.New(hubspoke.Pair[hub, spoke]{
		Group:       v1.GroupVersion.Group,
		Kind:        "ExternalService",
		Hub:         v1.GroupVersion.Version,
		Spoke:       v1alpha1.GroupVersion.Version,
		Up:          up,
		UpInto:      upInto,
		Down:        down,
		CompleteHub: complete,
		HasImplied:  hasImplied,
		OverlayHub:  overlayHub,
		HubUnions:   []hubspoke.Union{{Path: []string{"spec", "healthCheck"}, Members: []string{"tcpSocket", "httpGet", "grpc"}}},
		SpokeUnions: []hubspoke.Union{{Path: []string{"spec", "probe"}, Members: []string{"tcpSocket", "httpGet", "grpc"}}},
	})
}

// implied is what every v1alpha1 object means and cannot express: the defaults of v1 that apply in any case. Those of
// the blocks belong to the probe and to refreshSeconds.
var implied, impliedCheck, impliedResolution = func() (v1.ExternalServiceSpec, v1.HealthCheck, v1.Resolution) {
	var bare hub
	complete(&bare)
	blocks := hub{Spec: v1.ExternalServiceSpec{HealthCheck: new(v1.HealthCheck), Resolution: new(v1.Resolution)}}
	complete(&blocks)
	check, resolution := blocks.Spec.HealthCheck, blocks.Spec.Resolution
	return bare.Spec, v1.HealthCheck{UnhealthyInterval: check.UnhealthyInterval, JitterPercent: check.JitterPercent},
		v1.Resolution{OnFailure: resolution.OnFailure, KeepLastFor: resolution.KeepLastFor}
}()

// hasImplied reports whether a hub form has everything that up always writes.
func hasImplied(h *hub) bool {
	s := &h.Spec
	if s.Suspend == nil || s.DeletionPolicy == nil || s.HistoryLimit == nil || s.Service == nil || s.Service.Type == nil {
		return false
	}
	if check := s.HealthCheck; check != nil && (check.UnhealthyInterval == nil || check.JitterPercent == nil) {
		return false
	}
	return refresh(s.Resolution) == nil || s.Resolution.OnFailure != nil && s.Resolution.KeepLastFor != nil
}

// complete fills in the defaults of v1, except within list items: a value there was written by a user.
func complete(h *hub) {
	obj := v1.ExternalService{Spec: h.Spec}
	rules.DefaultMaps(&obj)
	h.Spec = obj.Spec
}

// PlainUp returns the v1 form, without defaults, of what v1alpha1 can say. It may share memory
// with its arguments. Alone, without the restore annotations that hubspoke makes, it loses what v1
// cannot say: it is what the benchmarks give to handlers that have no such annotation.
func PlainUp(spec v1alpha1.ExternalServiceSpec, status v1alpha1.ExternalServiceStatus) (v1.ExternalServiceSpec, v1.ExternalServiceStatus) {
	h := up(spoke{Spec: spec, Status: status})
	return h.Spec, h.Status
}

// PlainDown returns the view at v1alpha1. The notes of PlainUp hold for it as well.
func PlainDown(
	spec v1.ExternalServiceSpec, status v1.ExternalServiceStatus,
) (v1alpha1.ExternalServiceSpec, v1alpha1.ExternalServiceStatus) {
	s := down(hub{Spec: spec, Status: status})
	return s.Spec, s.Status
}
