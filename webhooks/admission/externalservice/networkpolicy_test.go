// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"strings"
	"testing"

	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func limiting(app string) *networkingv1.ExternalService {
	es := with(outside)
	es.Spec.NetworkPolicy = &networkingv1.NetworkPolicyTemplate{
		PodSelector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"app": common.LabelValue(app)}},
	}
	return es
}

func TestANetworkPolicyIsForThoseWhoMayWriteOne(t *testing.T) {
	stored := limiting("web")
	for name, test := range map[string]struct {
		obj, old *networkingv1.ExternalService
		asked    bool
	}{
		"create":          {limiting("web"), nil, true},
		"create without":  {with(outside), nil, false},
		"added":           {stored, with(outside), true},
		"removed":         {with(outside), stored, true},
		"selects others":  {limiting("api"), stored, true},
		"another address": {edited(stored, func(es *networkingv1.ExternalService) { es.Spec.Endpoints[1].Addresses[0] = "192.0.2.77" }), stored, true},
		"another name":    {edited(stored, func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].DNS.Name = "x.example.com" }), stored, true},
		"another port":    {edited(stored, func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port++ }), stored, true},
		"a port of its own": {edited(stored, func(es *networkingv1.ExternalService) {
			es.Spec.Endpoints[1].Ports = []networkingv1.EndpointPort{{Name: "sql", Port: 1}}
		}), stored, true},
		"resumed": {stored, suspended(limiting("web")), true},
		"drained": {edited(stored, func(es *networkingv1.ExternalService) {
			es.Spec.Endpoints[1].State = ptr.To(networkingv1.EndpointDrained)
		}), stored, false},
		"another priority":    {edited(stored, func(es *networkingv1.ExternalService) { es.Spec.Endpoints[1].Priority = ptr.To(int32(3)) }), stored, false},
		"labels":              {edited(stored, func(es *networkingv1.ExternalService) { es.Labels = map[string]string{"a": "b"} }), stored, false},
		"other, without ever": {with(outside, "192.0.2.8"), with(outside), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, user := range []string{ann, eve} {
				s := newSuite()
				_, errs := s.networkPolicy(t.Context(), request(user, test.old != nil), test.obj, test.old)
				switch {
				case test.asked != (len(s.rights.Rights) == 3):
					t.Errorf("%s: asked %v", user, s.rights.Rights)
				case (user == eve && test.asked) != (len(errs) == 3):
					t.Errorf("%s: %v", user, errs)
				case len(errs) > 0 && (errs[0].Field != "spec.networkPolicy" || !strings.Contains(errs.ToAggregate().Error(), `may not delete the NetworkPolicy "db-egress"`)):
					t.Errorf("%v", errs)
				}
			}
		})
	}
}

func TestWritersAreWarnedOfPodsThatLoseTheirEgress(t *testing.T) {
	policy := func(name, app string, types ...netv1.PolicyType) netv1.NetworkPolicy {
		return netv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: netv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": app}}, PolicyTypes: types,
		}}
	}
	pods := []labels.Set{{"app": "web", "tier": "a"}, {"app": "web", "tier": "b"}, {"app": "web", "tier": "c"}, {"app": "api"}}
	for name, test := range map[string]struct {
		isolation isolation
		dryRun    bool
		want      string
	}{
		"none":                 {isolation{pods: pods[3:]}, false, ""},
		"all":                  {isolation{pods: pods}, false, "3 of 3 selected pods, which no other NetworkPolicy limits, lose all egress except"},
		"a dry run":            {isolation{pods: pods}, true, "would lose all egress"},
		"limited already":      {isolation{pods: pods, policies: []netv1.NetworkPolicy{policy("x", "a", netv1.PolicyTypeEgress)}}, false, "2 of 3 selected pods"},
		"limited for ingress":  {isolation{pods: pods, policies: []netv1.NetworkPolicy{policy("x", "a", netv1.PolicyTypeIngress)}}, false, "3 of 3"},
		"limited by this one":  {isolation{pods: pods, policies: []netv1.NetworkPolicy{policy("db-egress", "a", netv1.PolicyTypeEgress)}}, false, "3 of 3"},
		"more than are listed": {isolation{pods: pods, more: true}, false, "at least 3 pods lose"},
		"unknown":              {isolation{err: errors.New("no route")}, false, "could not be counted (no route), lose"},
	} {
		s := newSuite()
		s.isolation = &test.isolation
		s.authorizer.isolation = s.isolation
		obj := limiting("web")
		obj.Spec.NetworkPolicy.DryRun = &test.dryRun
		warnings, errs := s.networkPolicy(t.Context(), request(ann, false), obj, nil)
		if len(errs) > 0 || (test.want == "") != (len(warnings) == 0) || !strings.Contains(strings.Join(warnings, "; "), test.want) {
			t.Errorf("%s: %q, %v", name, warnings, errs)
		}
	}
}
