// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// The endpoint has addresses of both families, or a name that resolves to none of the Service's.
func TestWhySaysWhatHelpsAddressesOfAFamilyThatTheServiceLacks(t *testing.T) {
	static := func(addresses ...networkingv1.IPAddress) func(*networkingv1.ExternalService) {
		return func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].Addresses = addresses }
	}
	name := func(reason string) func(*networkingv1.ExternalService) {
		return func(es *networkingv1.ExternalService) {
			es.Spec.Endpoints[0].Addresses, es.Spec.Endpoints[0].DNS = nil, &networkingv1.DNSName{Name: "db.example.com"}
			es.Status.Endpoints[0] = networkingv1.EndpointStatus{Name: "primary", DNSName: "db.example.com", Reason: reason}
		}
	}
	none := func(change func(*networkingv1.ExternalService)) func(*networkingv1.ExternalService) {
		return func(es *networkingv1.ExternalService) {
			change(es)
			es.Status.Endpoints[0].Addresses, es.Status.ActivePriority = nil, nil
			es.Status.Conditions[0] = condition("Ready", "False", networkingv1.ReasonNoAddresses, "no endpoint that is Active has addresses")
		}
	}
	single, prefers := corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack
	const (
		helps    = "Give the endpoint an address of family IPv4, or a name that has one."
		restored = "set spec.service.ipFamilyPolicy to PreferDualStack"
		required = "set spec.service.ipFamilyPolicy to RequireDualStack"
		activate = "Set an endpoint to Active."
		correct  = "Correct the name"
		egress   = "Have an administrator allow"
	)
	for of, c := range map[string]struct {
		change   func(*networkingv1.ExternalService)
		families []corev1.IPFamily
		policy   corev1.IPFamilyPolicy
		headless bool
		says     []string
		never    []string
	}{
		"one of two addresses": {change: static("192.0.2.1", "2001:db8::1"), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: prefers,
			says: []string{"Endpoint primary", "2001:db8::1 is left out: the Service has addresses of family IPv4 alone", helps, required}, never: []string{restored}},
		"all addresses": {change: none(static("2001:db8::1")), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: prefers,
			says: []string{"Ready is False (NoAddresses)", "2001:db8::1 is left out", helps, required}, never: []string{activate, correct, egress}},
		"a Service that another user has changed": {change: none(static("2001:db8::1")), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: single,
			says: []string{helps, restored}, never: []string{required, activate, correct, egress}},
		"a name": {change: none(name(networkingv1.ReasonResolved)), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: prefers,
			says: []string{"Each address of db.example.com is left out", helps}, never: []string{activate, correct, egress}},
		"a name that does not resolve": {change: none(name(networkingv1.ReasonNXDomain)), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: prefers,
			says: []string{correct}, never: []string{helps, activate, egress}},
		"a name that is refused": {change: none(name(networkingv1.ReasonDenied)), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: prefers,
			says: []string{egress}, never: []string{helps, activate}},
		"a drained endpoint": {change: none(func(es *networkingv1.ExternalService) {
			static("2001:db8::1")(es)
			es.Spec.Endpoints[0].State = ptr.To(networkingv1.EndpointDrained)
		}), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: prefers, says: []string{activate}, never: []string{helps, correct, egress}},
		"both families": {change: static("192.0.2.1", "2001:db8::1"), families: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, policy: prefers,
			never: []string{"left out", helps}},
		"a headless Service": {change: static("192.0.2.1", "2001:db8::1"), families: []corev1.IPFamily{corev1.IPv4Protocol}, policy: single, headless: true,
			never: []string{"left out", helps}},
		"a Service that may not be read": {change: none(static("2001:db8::1")), says: []string{"an address of a family that the Service has"}, never: []string{activate, correct, egress}},
	} {
		t.Run(of, func(t *testing.T) {
			s, es, service := shop(autorebootv1.ReasonCooldown), database(), serviceOf("sql")
			c.change(es)
			service.Spec.IPFamilies, service.Spec.IPFamilyPolicy = c.families, &c.policy
			if c.headless {
				service.Spec.ClusterIP = corev1.ClusterIPNone
			}
			s.objects["externalservices"], s.objects["services"] = []client.Object{es}, []client.Object{service}
			if c.families == nil {
				s.refuse = map[string]*apierrors.StatusError{"services": forbidden("services")}
			}
			text := explained(t, s, Key{ExternalService, "shop", "db"})
			want(t, text, c.says...)
			for _, never := range c.never {
				if strings.Contains(text, never) {
					t.Errorf("it says %q:\n%s", never, text)
				}
			}
		})
	}
}
