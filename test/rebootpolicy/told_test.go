// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// told are the events on an object, by reason.
func (s *suite) told(kind, name string) map[string][]eventsv1.Event {
	s.Helper()
	events, err := framework.Told(s.Context(), s.client, s.namespace, kind, name)
	s.must(err)
	return events
}

// tells waits until events of a reason were seen so many times, and returns them. More is an error.
func (s *suite) tells(kind, name, reason string, times int) []eventsv1.Event {
	s.Helper()
	var events []eventsv1.Event
	s.eventually(func() error {
		if events = s.told(kind, name)[reason]; len(events) < times {
			return fmt.Errorf("%s: %d events of reason %s, want %d: %s", name, len(events), reason, times, text(s.told(kind, name)))
		}
		return nil
	})
	if len(events) > times {
		s.Errorf("%s: %d events of reason %s, want %d: %s", name, len(events), reason, times, text(events))
	}
	return events
}

// samples reads the leader's metrics.
func (s *suite) samples() framework.Samples {
	s.Helper()
	return framework.ReadSamples(s.figures())
}

// figures is the leader's page of metrics.
func (s *suite) figures() string {
	s.Helper()
	page, err := s.shared.Figures(s.Context(), s.namespace)
	s.must(err)
	return page
}
