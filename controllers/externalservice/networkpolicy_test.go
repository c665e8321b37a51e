// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func limiting() *networkingv1.NetworkPolicyTemplate {
	return &networkingv1.NetworkPolicyTemplate{PodSelector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"app": "web"}}}
}

var policyKey = client.ObjectKey{Namespace: objectKey.Namespace, Name: "db-egress"}

// networkPolicy returns the NetworkPolicy of the object, or nil.
func (s *suite) networkPolicy() *netv1.NetworkPolicy {
	s.Helper()
	policy := &netv1.NetworkPolicy{}
	if err := s.store.Get(s.Context(), policyKey, policy); err != nil {
		s.must(client.IgnoreNotFound(err))
		return nil
	}
	return policy
}

// allows returns the addresses of the NetworkPolicy with their ports, in order, as "192.0.2.1:TCP5432".
func (s *suite) allows() string {
	s.Helper()
	policy := s.networkPolicy()
	if policy == nil {
		return "no NetworkPolicy"
	}
	var all []string
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			if to.IPBlock == nil {
				continue
			}
			text := to.IPBlock.CIDR + ":"
			for _, p := range rule.Ports {
				text += fmt.Sprint(*p.Protocol, p.Port)
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (s *suite) wantAllows(want string) {
	s.Helper()
	if got := s.allows(); got != want {
		s.Errorf("the NetworkPolicy allows %q, want %q", got, want)
	}
}

// notAllowed returns what slices have and the NetworkPolicy, if there is one, does not allow.
func (s *suite) notAllowed() string {
	s.Helper()
	policy := s.networkPolicy()
	if policy == nil {
		return ""
	}
	to := publication.DestinationsIn(policy)
	for _, slice := range sliceList(s) {
		has := publication.Destinations{}
		if has.AddSlice(&slice); !to.HasAll(has) {
			return fmt.Sprintf("slice %s has %v, and the NetworkPolicy allows %v", slice.Name, has, to)
		}
	}
	return ""
}

const limited = `{ports: [{name: sql, port: 5432}], networkPolicy: {podSelector: {matchLabels: {app: web}}}, endpoints: [{name: a, addresses: [192.0.2.1]}]}`

func TestTheNetworkPolicyAllowsEachAddressOfTheObjectAndDNSAlone(t *testing.T) {
	s := newSuite(t, `{ports: [{name: sql, port: 5432}, {name: stats, port: 8125, protocol: UDP, targetPort: 8126}], networkPolicy: {podSelector: {matchExpressions: [{key: app, operator: Exists}]}},
		healthCheck: {tcpSocket: {port: sql}},
		endpoints: [{name: a, addresses: [192.0.2.1]}, {name: own, addresses: [192.0.2.2], priority: 1, ports: [{name: sql, port: 6432}]}, {name: out, addresses: ["2001:db8::1"], state: Drained},
			{name: denied, addresses: [192.0.2.4]}]}`)
	s.policy["192.0.2.4"] = egress.ReasonDeniedByPolicy
	for _, ip := range []string{"192.0.2.1", "192.0.2.2"} {
		s.health.setHealth("", ip, networkingv1.AddressUnhealthy)
	}
	s.reconcileOnce()
	s.reconcileOnce()
	s.wantAllows("192.0.2.1/32:TCP5432UDP8126 192.0.2.2/32:TCP6432UDP8126 2001:db8::1/128:TCP5432UDP8126")
	policy, service := s.networkPolicy(), mustService(s)
	if owner := metav1.GetControllerOf(policy); owner == nil || owner.UID != service.UID || policy.Labels[common.ManagedByLabel] != common.ManagedBy {
		t.Errorf("the NetworkPolicy is %+v", policy.ObjectMeta)
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []netv1.PolicyType{netv1.PolicyTypeEgress}) || len(policy.Spec.Ingress) > 0 {
		t.Errorf("the NetworkPolicy limits %v", policy.Spec.PolicyTypes)
	}
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}, policy.Spec.PodSelector.MatchExpressions); diff != "" {
		t.Error(diff)
	}
	open := 0
	for _, rule := range policy.Spec.Egress {
		if len(rule.Ports) == 0 {
			t.Errorf("a rule allows every port: %+v", rule)
		}
		if len(rule.To) == 0 {
			open++
			if len(rule.Ports) != 2 || rule.Ports[0].Port.IntVal != 53 || rule.Ports[1].Port.IntVal != 53 {
				t.Errorf("every address is allowed with %+v", rule.Ports)
			}
		}
	}
	if open != 1 {
		t.Errorf("%d rules allow every address", open)
	}
	s.reconcileUnchanged("it is as it is wanted")
}

func TestTheNetworkPolicyIsWidenedBeforeAndNarrowedAfter(t *testing.T) {
	s := newSuite(t, strings.Replace(limited, "addresses: [192.0.2.1]", "dns: {name: db.example.com}", 1))
	s.names.answers["db.example.com"] = []string{"192.0.2.1"}
	s.reconcileOnce()
	if first := slices.Index(s.writes, "apply NetworkPolicy db-egress"); first < 0 || first > slices.IndexFunc(s.writes, func(w string) bool { return strings.HasPrefix(w, "apply EndpointSlice") }) {
		t.Errorf("writes: %q", s.writes)
	}
	s.writes, s.names.answers["db.example.com"] = nil, []string{"192.0.2.2"}
	var seen []string
	s.afterWrite = func() { seen = append(seen, s.allows()+" | "+s.published()) }
	s.reconcileOnce()
	if diff := cmp.Diff([]string{
		"192.0.2.1/32:TCP5432 192.0.2.2/32:TCP5432 | 192.0.2.1+",
		"192.0.2.1/32:TCP5432 192.0.2.2/32:TCP5432 | 192.0.2.2+",
		"192.0.2.2/32:TCP5432 | 192.0.2.2+",
	}, seen[:min(3, len(seen))]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.reconcileUnchanged("it is as it is wanted")
	s.restart() // the name was not looked up yet
	s.reconcileOnce()
	s.wantAllows("192.0.2.2/32:TCP5432")
}

// What is not known takes nothing away: the standby of a name is in no slice.
func TestANewProcessKeepsWhatTheNetworkPolicyAllows(t *testing.T) {
	s := newSuite(t, `{ports: [{name: sql, port: 5432}], networkPolicy: {podSelector: {}}, healthCheck: {tcpSocket: {}},
		endpoints: [{name: a, addresses: [192.0.2.1]}, {name: b, priority: 1, dns: {name: db.example.com}}]}`)
	s.names.answers["db.example.com"] = []string{"192.0.2.9"}
	s.reconcileOnce()
	s.health.setHealth("", "192.0.2.1", networkingv1.AddressHealthy)
	s.reconcileOnce()
	const all = "192.0.2.1/32:TCP5432 192.0.2.9/32:TCP5432"
	s.wantAllows(all)
	s.edit(func(es *networkingv1.ExternalService) { es.Status.Endpoints = nil })
	s.restart()
	for range 3 {
		s.reconcileOnce()
		s.wantAllows(all)
		s.advance(time.Second)
	}
}

func TestAnAddressWaitsForItsNetworkPolicy(t *testing.T) {
	s := newSuite(t, limited)
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.refuse = func(write string) error {
		if strings.HasPrefix(write, "apply NetworkPolicy") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "db-egress", errors.New(refusal))
		}
		return nil
	}
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.2"}
	})
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantAllows("192.0.2.1/32:TCP5432")
	s.wantCondition(networkingv1.ConditionReady, "False "+networkingv1.ReasonWriteRefused)
	s.refuse = nil
	s.advance(time.Minute)
	s.reconcileOnce()
	s.wantPublished("192.0.2.2+")
	s.wantAllows("192.0.2.2/32:TCP5432")
	s.wantCondition(networkingv1.ConditionReady, "True "+networkingv1.ReasonPublished)
}

func TestANetworkPolicyOfAnotherOwnerIsLeftAlone(t *testing.T) {
	s := newSuite(t, limited)
	theirs := &netv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: policyKey.Namespace, Name: policyKey.Name}}
	s.must(s.store.Create(t.Context(), theirs))
	s.must(s.store.Update(t.Context(), theirs)) // no object of an API server has version 1
	s.reconcileOnce()
	if policy := s.networkPolicy(); len(policy.Spec.Egress) > 0 {
		t.Errorf("it became %+v", policy.Spec)
	}
	s.wantPublished("")
	if _, reason, message := (&route{suite: s}).ready(); reason != networkingv1.ReasonWriteRefused || !strings.Contains(message, "was not made for this ExternalService") {
		t.Errorf("Ready is %s: %s", reason, message)
	}
}

func TestTheNetworkPolicyGoesWithTheFieldAndIsRepaired(t *testing.T) {
	s := newSuite(t, limited)
	s.reconcileOnce()
	policy := s.networkPolicy()
	policy.Spec.PodSelector = metav1.LabelSelector{}
	s.must(s.store.Update(t.Context(), policy))
	s.advance(time.Minute)
	s.reconcileOnce()
	if got := s.networkPolicy().Spec.PodSelector.MatchLabels; !maps.Equal(got, map[string]string{"app": "web"}) {
		t.Errorf("it selects %v", got)
	}
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.NetworkPolicy.DryRun = new(true) })
	s.reconcileOnce()
	if got := s.networkPolicy().Spec.PodSelector.MatchExpressions; len(got) != 1 || got[0].Key != networkingv1.NetworkPolicyTrialLabel {
		t.Errorf("a dry run selects %v", got)
	}
	s.edit(func(es *networkingv1.ExternalService) { es.Spec.NetworkPolicy = nil })
	s.reconcileOnce()
	s.wantAllows("no NetworkPolicy")
	s.reconcileUnchanged("there is none")
}

func TestSuspendLeavesTheNetworkPolicyExceptForWhatIsDenied(t *testing.T) {
	s := newSuite(t, strings.Replace(limited, "[192.0.2.1]", "[192.0.2.1, 192.0.2.2]", 1))
	s.reconcileOnce()
	s.edit(func(es *networkingv1.ExternalService) {
		es.Spec.Suspend = new(true)
		es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.1", "192.0.2.3"}
	})
	s.reconcileOnce()
	s.wantAllows("192.0.2.1/32:TCP5432 192.0.2.2/32:TCP5432")
	s.policy["192.0.2.2"] = egress.ReasonDeniedByPolicy
	s.reconcileOnce()
	s.wantPublished("192.0.2.1+")
	s.wantAllows("192.0.2.1/32:TCP5432")
}

func TestTheNetworkPolicyStaysUntilTheServiceIsGone(t *testing.T) {
	s := newSuite(t, limited)
	s.collectsGarbage = true
	s.reconcileOnce()
	s.must(s.store.Delete(t.Context(), s.object()))
	s.now = s.object().DeletionTimestamp.Time
	s.reconcileOnce()
	s.wantPublished("192.0.2.1 serving terminating")
	s.wantAllows("192.0.2.1/32:TCP5432")
	s.advance(time.Minute)
	s.reconcileOnce()
	s.wantAllows("no NetworkPolicy")
	if err := s.store.Get(t.Context(), objectKey, &corev1.Service{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service: %v", err)
	}
}

// forbidding is an API server that refuses every read of NetworkPolicies.
type forbidding struct{ client.Reader }

func (f forbidding) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, is := o.(*netv1.NetworkPolicy); is {
		return apierrors.NewForbidden(netv1.Resource("networkpolicies"), key.Name, errors.New(`User "fairlead" cannot get resource "networkpolicies"`))
	}
	return f.Reader.Get(ctx, key, o, options...)
}

// An operator that was upgraded without its role must not stop what worked before.
func TestWithoutTheRightToNetworkPoliciesOnlyWhatNeedsOneWaits(t *testing.T) {
	for name, test := range map[string]struct{ spec, published, ready string }{
		"none":      {strings.Replace(limited, "networkPolicy: {podSelector: {matchLabels: {app: web}}}, ", "", 1), "192.0.2.1+", "True Published"},
		"one":       {limited, "", "False WriteRefused"},
		"a dry run": {strings.Replace(limited, "networkPolicy: {", "networkPolicy: {dryRun: true, ", 1), "192.0.2.1+", "False WriteRefused"},
		"suspended": {strings.Replace(limited, "{ports", "{suspend: true, ports", 1), "", "False WriteRefused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, test.spec)
			granted := false
			s.CachesNetworkPolicies = func(context.Context) bool { return granted }
			s.Live = forbidding{s.store}
			s.reconcileOnce()
			s.reconcileOnce()
			s.wantPublished(test.published)
			s.wantAllows("no NetworkPolicy")
			s.wantCondition("Ready", test.ready)
			if _, _, message := s.ready(); test.ready != "True Published" && !strings.Contains(message, `networkpolicies.networking.k8s.io "db-egress" is forbidden: User "fairlead" cannot get resource "networkpolicies"`) {
				t.Errorf("Ready does not say what is missing: %s", message)
			}
			s.Live = s.store // the right is granted, and the cache has not noticed yet
			s.advance(time.Minute)
			s.settle()
			if name == "one" {
				s.wantPublished("192.0.2.1+")
				s.wantAllows("192.0.2.1/32:TCP5432")
			}
			granted = true
			s.reconcileUnchanged("the cache has them")
		})
	}
}
