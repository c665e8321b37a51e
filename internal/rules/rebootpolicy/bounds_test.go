// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// What a review costs follows from the bounds of the schema: items beyond them are not looked at.
func TestItemsBeyondTheBoundOfTheirListAreNotJudged(t *testing.T) {
	const many, most = 5_000, 300
	type spec = autorebootv1.RebootPolicySpec
	first := func(t autorebootv1.Trigger) []autorebootv1.Trigger { return []autorebootv1.Trigger{t} }
	for name, fill := range map[string]func(*spec){
		"targets":   func(s *spec) { s.Targets = make([]autorebootv1.Target, many) },
		"triggers":  func(s *spec) { s.Triggers = make([]autorebootv1.Trigger, many) },
		"gates":     func(s *spec) { s.Gates = make([]autorebootv1.Gate, many) },
		"windows":   func(s *spec) { s.Windows = make([]common.Window, many) },
		"blackouts": func(s *spec) { s.Blackouts = make([]common.Window, many) },
		"sources": func(s *spec) {
			s.Triggers = first(autorebootv1.Trigger{ConfigChange: &autorebootv1.ConfigChange{Sources: make([]autorebootv1.ConfigSource, many)}})
		},
		"keys": func(s *spec) {
			s.Triggers = first(autorebootv1.Trigger{ConfigChange: &autorebootv1.ConfigChange{Sources: []autorebootv1.ConfigSource{{Keys: make([]string, many)}}}})
		},
		"events": func(s *spec) {
			s.Triggers = first(autorebootv1.Trigger{EndpointsChange: &autorebootv1.EndpointsChange{Events: make([]autorebootv1.EndpointsEvent, many)}})
		},
		"probes": func(s *spec) {
			s.Verification = &autorebootv1.Verification{Verification: common.Verification{Probes: make([]common.VerificationProbe, many)}}
		},
		"statuses": func(s *spec) {
			s.Triggers = first(autorebootv1.Trigger{Probe: &autorebootv1.Probe{Check: common.Check{HTTPGet: &common.HTTPGetAction{ExpectedStatuses: make([]common.StatusRange, many)}}}})
		},
		"headers": func(s *spec) {
			s.Triggers = first(autorebootv1.Trigger{Probe: &autorebootv1.Probe{Check: common.Check{HTTPGet: &common.HTTPGetAction{HTTPHeaders: make([]common.HTTPHeader, many)}}}})
		},
	} {
		obj := &autorebootv1.RebootPolicy{}
		fill(&obj.Spec)
		if errs := Validate(obj, nil); !rules.Excessive(errs) || len(errs) > most {
			t.Errorf("%s: %d errors, too many items: %t", name, len(errs), rules.Excessive(errs))
		}
	}
}
