// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// Destinations are addresses that pods may connect to, each with its ports.
type Destinations map[netip.Addr]DestinationPorts

// DestinationPorts are the ports of an address.
type DestinationPorts map[destinationPort]bool

type destinationPort struct {
	protocol corev1.Protocol
	number   int32
}

// Add adds the ports of an address.
func (d Destinations) Add(ip netip.Addr, ports []discoveryv1.EndpointPort) {
	if !ip.IsValid() {
		return
	}
	if d[ip] == nil {
		d[ip] = DestinationPorts{}
	}
	for i := range ports {
		if number := ptr.Deref(ports[i].Port, 0); number > 0 {
			d[ip][destinationPort{ptr.Deref(ports[i].Protocol, corev1.ProtocolTCP), number}] = true
		}
	}
}

// AddSlice adds the addresses of an EndpointSlice.
func (d Destinations) AddSlice(slice *discoveryv1.EndpointSlice) {
	for key := range endpoints.In(slice) {
		d.Add(key.IP, slice.Ports)
	}
}

// Destinations returns the addresses of a slice.
func (s *Slice) Destinations() Destinations {
	d := Destinations{}
	d.AddSlice(&discoveryv1.EndpointSlice{Ports: s.Ports, Endpoints: s.Endpoints})
	return d
}

// AddAll adds other destinations.
func (d Destinations) AddAll(other Destinations) {
	for ip, ports := range other {
		if d[ip] == nil {
			d[ip] = DestinationPorts{}
		}
		maps.Copy(d[ip], ports)
	}
}

// HasAll reports whether all of other destinations are there.
func (d Destinations) HasAll(other Destinations) bool {
	for ip, ports := range other {
		for port := range ports {
			if !d[ip][port] {
				return false
			}
		}
	}
	return true
}

// Numbers returns the numbers of the ports.
func (p DestinationPorts) Numbers() []uint16 {
	numbers := make([]uint16, 0, len(p))
	for port := range p {
		numbers = append(numbers, uint16(port.number))
	}
	return numbers
}

// DestinationsIn returns the destinations of a NetworkPolicy, which may be nil. A peer that Fairlead does not write is none.
func DestinationsIn(policy *netv1.NetworkPolicy) Destinations {
	d := Destinations{}
	if policy == nil {
		return d
	}
	for _, rule := range policy.Spec.Egress {
		var ports []discoveryv1.EndpointPort
		for _, p := range rule.Ports {
			if p.Port != nil && p.Port.Type == intstr.Int && p.EndPort == nil {
				ports = append(ports, discoveryv1.EndpointPort{Port: &p.Port.IntVal, Protocol: p.Protocol})
			}
		}
		for _, peer := range rule.To {
			if peer.IPBlock == nil || len(peer.IPBlock.Except) > 0 {
				continue
			}
			if prefix, err := netip.ParsePrefix(peer.IPBlock.CIDR); err == nil && prefix.IsSingleIP() {
				d.Add(prefix.Addr(), ports)
			}
		}
	}
	return d
}

// IsNetworkPolicyOf reports whether a NetworkPolicy was made for an ExternalService of this name. Its owner is a Service of
// the name, which may have been created again since.
func IsNetworkPolicyOf(policy *netv1.NetworkPolicy, name string) bool {
	owner := metav1.GetControllerOf(policy)
	return policy.Name == rules.NetworkPolicyName(name) && policy.Labels[common.ManagedByLabel] == common.ManagedBy &&
		owner != nil && owner.Kind == "Service" && owner.Name == name
}

// NetworkPolicy returns the NetworkPolicy of an object with a networkPolicy. Its owner is the Service, as that of
// EndpointSlices: it goes after the drain and stays with a Service that is orphaned.
func NetworkPolicy(es *networkingv1.ExternalService, service *corev1.Service, to Destinations) *netv1.NetworkPolicy {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID, Controller: ptr.To(true)}
	return newNetworkPolicy(es.Namespace, &owner, podSelector(es.Spec.NetworkPolicy), to)
}

// NetworkPolicyWith returns a NetworkPolicy with other destinations.
func NetworkPolicyWith(policy *netv1.NetworkPolicy, to Destinations) *netv1.NetworkPolicy {
	return newNetworkPolicy(policy.Namespace, metav1.GetControllerOf(policy), policy.Spec.PodSelector, to)
}

func newNetworkPolicy(
	namespace string, owner *metav1.OwnerReference, pods metav1.LabelSelector, to Destinations,
) *netv1.NetworkPolicy {
	return &netv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: netv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: rules.NetworkPolicyName(owner.Name), OwnerReferences: []metav1.OwnerReference{*owner},
			Labels: map[string]string{common.ManagedByLabel: common.ManagedBy},
		},
		Spec: netv1.NetworkPolicySpec{
			PodSelector: pods, PolicyTypes: []netv1.PolicyType{netv1.PolicyTypeEgress}, Egress: append(egressTo(to), egressToDNS()...),
		},
	}
}

// podSelector returns which pods a NetworkPolicy selects.
func podSelector(of *networkingv1.NetworkPolicyTemplate) metav1.LabelSelector {
	selector := *of.PodSelector.Meta()
	if *of.DryRun {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: networkingv1.NetworkPolicyTrialLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{"true"},
		})
	}
	return selector
}

// egressTo returns a rule for each set of ports with the addresses that have it, all in order. 3,200 addresses, as many as an
// object may have, with two ports that are about to change take some 400 kB.
func egressTo(to Destinations) []netv1.NetworkPolicyEgressRule {
	var rules []netv1.NetworkPolicyEgressRule
	at := map[string]int{}
	for _, ip := range slices.SortedFunc(maps.Keys(to), netip.Addr.Compare) {
		if len(to[ip]) == 0 {
			continue // a rule without ports would allow all
		}
		var ports []netv1.NetworkPolicyPort
		key := ""
		for _, p := range slices.SortedFunc(maps.Keys(to[ip]), compareDestinationPorts) {
			port := intstr.FromInt32(p.number)
			ports = append(ports, netv1.NetworkPolicyPort{Protocol: &p.protocol, Port: &port})
			key += string(p.protocol) + port.String() + ","
		}
		i, found := at[key]
		if !found {
			i = len(rules)
			at[key] = i
			rules = append(rules, netv1.NetworkPolicyEgressRule{Ports: ports})
		}
		cidr := netip.PrefixFrom(ip, ip.BitLen()).String()
		rules[i].To = append(rules[i].To, netv1.NetworkPolicyPeer{IPBlock: &netv1.IPBlock{CIDR: cidr}})
	}
	return rules
}

func compareDestinationPorts(a, b destinationPort) int {
	return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.number, b.number))
}

// egressToDNS allows DNS: port 53 at any address, since node-local caches and resolvers in the host network are no pods, and
// the port of OpenShift's resolvers.
func egressToDNS() []netv1.NetworkPolicyEgressRule {
	at := func(number int32) []netv1.NetworkPolicyPort {
		port := intstr.FromInt32(number)
		return []netv1.NetworkPolicyPort{
			{Protocol: ptr.To(corev1.ProtocolUDP), Port: &port}, {Protocol: ptr.To(corev1.ProtocolTCP), Port: &port},
		}
	}
	openshift := netv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: "openshift-dns"},
	}}
	return []netv1.NetworkPolicyEgressRule{{Ports: at(53)}, {Ports: at(5353), To: []netv1.NetworkPolicyPeer{openshift}}}
}

// IsNetworkPolicy reports whether applying the wanted NetworkPolicy would not change the current one, which may be nil.
func IsNetworkPolicy(current, wanted *netv1.NetworkPolicy) bool {
	return current != nil && containsAll(current.Labels, wanted.Labels) &&
		apiequality.Semantic.DeepEqual(current.OwnerReferences, wanted.OwnerReferences) &&
		apiequality.Semantic.DeepEqual(current.Spec, wanted.Spec)
}

// NetworkPolicyConfiguration returns what is applied for a NetworkPolicy.
func NetworkPolicyConfiguration(policy *netv1.NetworkPolicy) (*netv1ac.NetworkPolicyApplyConfiguration, error) {
	data, err := json.Marshal(policy)
	if err != nil {
		return nil, err
	}
	wanted := &netv1ac.NetworkPolicyApplyConfiguration{}
	return wanted, json.Unmarshal(data, wanted)
}
