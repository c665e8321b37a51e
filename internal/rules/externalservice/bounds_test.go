// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// What a review costs follows from the bounds of the schema: items beyond them are not looked at.
func TestItemsBeyondTheBoundOfTheirListAreNotJudged(t *testing.T) {
	const many, most = 5_000, 300
	type spec = v1.ExternalServiceSpec
	for name, fill := range map[string]func(*spec){
		"ports":     func(s *spec) { s.Ports = make([]v1.ServicePort, many) },
		"endpoints": func(s *spec) { s.Endpoints = make([]v1.Endpoint, many) },
		"addresses": func(s *spec) { s.Endpoints = []v1.Endpoint{{Addresses: make([]v1.IPAddress, many)}} },
		"ports of an endpoint": func(s *spec) {
			s.Endpoints = []v1.Endpoint{{Ports: make([]v1.EndpointPort, many)}}
		},
		"statuses": func(s *spec) {
			s.HealthCheck = &v1.HealthCheck{Check: common.Check{HTTPGet: &common.HTTPGetAction{ExpectedStatuses: make([]common.StatusRange, many)}}}
		},
	} {
		obj := &v1.ExternalService{}
		fill(&obj.Spec)
		if errs := Validate(obj, nil); !rules.Excessive(errs) || len(errs) > most {
			t.Errorf("%s: %d errors, too many items: %t", name, len(errs), rules.Excessive(errs))
		}
	}
}
