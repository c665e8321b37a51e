// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// told are the events on an object, by reason: every occurrence that the API server has.
func (s *suite) told(kind, name string) map[string][]eventsv1.Event {
	s.Helper()
	var list eventsv1.EventList
	s.must(s.client.List(s.Context(), &list, client.InNamespace(s.namespace)))
	events := map[string][]eventsv1.Event{}
	for _, event := range list.Items {
		if event.Regarding.Kind != kind || event.Regarding.Name != name {
			continue
		}
		times := 1
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		for range times {
			events[event.Reason] = append(events[event.Reason], event)
		}
	}
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
	const reader = "figures"
	account := &corev1.ServiceAccount{}
	account.Name, account.Namespace = reader, s.namespace
	if err := s.client.Create(s.Context(), account); err == nil {
		binding := s.namespace + "-" + reader
		s.kubectl("create", "clusterrolebinding", binding, "--clusterrole=fairlead-metrics-reader", "--serviceaccount="+s.namespace+":"+reader)
		s.Cleanup(func() { _, _ = s.shared.Kubectl(context.Background(), "delete", "clusterrolebinding", binding) })
	}
	token := strings.TrimSpace(s.kubectl("create", "token", reader))
	var page string
	s.eventually(func() error {
		var err error
		page, err = s.leader().Page(s.Context(), token)
		return err
	})
	return page
}
