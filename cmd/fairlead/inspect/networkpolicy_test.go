// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"

	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// policyOf is a NetworkPolicy that allows pods two addresses, and port 53 of all.
func policyOf(name string) *netv1.NetworkPolicy {
	block := func(cidr string) netv1.NetworkPolicyEgressRule {
		return netv1.NetworkPolicyEgressRule{To: []netv1.NetworkPolicyPeer{{IPBlock: &netv1.IPBlock{CIDR: cidr}}}}
	}
	return &netv1.NetworkPolicy{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: NetworkPolicy}, ObjectMeta: named(name),
		Spec: netv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}},
			Egress: []netv1.NetworkPolicyEgressRule{block("192.0.2.1/32"), block("192.0.2.2/32"), block("192.0.2.2/32"), {}}}}
}

func TestTheNetworkPolicyOfAnExternalServiceIsListedWithIt(t *testing.T) {
	limited := func() *server {
		s, db := shop(autorebootv1.ReasonCooldown), database()
		db.Spec.NetworkPolicy = &networkingv1.NetworkPolicyTemplate{}
		s.objects["externalservices"] = []client.Object{db}
		s.objects["networkpolicies"] = []client.Object{policyOf("db-egress"), policyOf("other-egress")}
		return s
	}
	for name, test := range map[string]struct {
		change    func(*server)
		why, tree string
	}{
		"there is one": {func(*server) {}, "limits pods by, NetworkPolicy shop/db-egress (Healthy: it selects app=api, and allows DNS and 2 addresses)",
			"├─NetworkPolicy/db-egress (limits pods by)   Healthy"},
		"it is gone": {func(s *server) { s.objects["networkpolicies"] = nil }, "NetworkPolicy shop/db-egress (Unknown: it does not exist)",
			"├─NetworkPolicy/db-egress (limits pods by)   Unknown"},
		"it may not be read": {func(s *server) {
			s.refuse = map[string]*apierrors.StatusError{"networkpolicies": forbidden("networkpolicies")}
		},
			"NetworkPolicy shop/db-egress (Unknown: it could not be read: you have no permission: grant list on networkpolicies.networking.k8s.io in namespace shop)",
			"Not known: networkpolicies.networking.k8s.io could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := limited()
			test.change(s)
			want(t, explained(t, s, Key{ExternalService, "shop", "db"}), test.why)
			_, tree := status(t, s, "")
			if want(t, tree, test.tree); strings.Contains(tree, "other-egress") {
				t.Errorf("it lists what is of no ExternalService:\n%s", tree)
			}
		})
	}
	s := shop(autorebootv1.ReasonCooldown)
	s.refuse = map[string]*apierrors.StatusError{"networkpolicies": forbidden("networkpolicies")}
	if text := explained(t, s, Key{ExternalService, "shop", "db"}); strings.Contains(strings.ToLower(text), "networkpolic") {
		t.Errorf("without the field:\n%s", text)
	}
}
