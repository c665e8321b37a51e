// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
)

// renumber has what is remembered by the number of a priority be of the same endpoints after an edit: it is active what is
// published, whatever its number is now.
func (s *State) renumber(in *Input) {
	es := in.Object
	if s.generation == es.Generation {
		return
	}
	s.generation = es.Generation
	s.regroup(&es.Spec)
	if !s.IsDecided || s.Active == nil {
		return // what Adopt has set is of this spec
	}
	published := s.publishedActual
	if published == nil {
		published = endpoints.PublishedIn(slices.Values(in.Slices))
	}
	active := endpoints.ActiveIn(published, in.Observed.Endpoints, *s.Active, &es.Status)
	if ptr.Equal(s.Reported, s.Active) {
		s.Reported = &active
	}
	s.Active = &active
}

// regroup moves what is remembered of priorities with their endpoints. Of endpoints that were edited nothing is.
func (s *State) regroup(spec *networkingv1.ExternalServiceSpec) {
	former, unqualified, since := s.groups, s.unqualified, ptr.Deref(s.qualifiedSince, [endpoints.NumPriorities]time.Time{})
	s.groups, s.unqualified = groupsOf(spec), [endpoints.NumPriorities]bool{}
	if s.qualifiedSince != nil {
		s.qualifiedSince = &[endpoints.NumPriorities]time.Time{}
	}
	for priority, group := range s.groups {
		was := slices.Index(former[:], group)
		if group == "" || was < 0 {
			continue
		}
		s.unqualified[priority] = unqualified[was]
		if s.qualifiedSince != nil {
			s.qualifiedSince[priority] = since[was]
		}
	}
}

// groupsOf returns what identifies the endpoints of each priority, whatever they are named; empty for none.
func groupsOf(spec *networkingv1.ExternalServiceSpec) (groups [endpoints.NumPriorities]string) {
	var members [endpoints.NumPriorities][]string
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if *e.State == networkingv1.EndpointDrained || *e.Priority < 0 || *e.Priority >= endpoints.NumPriorities {
			continue
		}
		all := &members[*e.Priority]
		for _, ip := range e.Addresses {
			*all = append(*all, string(ip))
		}
		if e.DNS != nil {
			*all = append(*all, fmt.Sprint(strings.ToLower(strings.TrimSuffix(e.DNS.Name, ".")), " ", *e.DNS.RecordType))
		}
	}
	for priority, all := range members {
		slices.Sort(all)
		groups[priority] = strings.Join(slices.Compact(all), " ")
	}
	return groups
}
