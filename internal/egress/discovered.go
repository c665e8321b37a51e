// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// What objects say about where the cluster is. Texts that are no address or prefix, such as a node's
// host name, are passed over.

func nodeRanges(node *corev1.Node) []Range {
	var ranges []Range
	for _, address := range node.Status.Addresses {
		ranges = appendAddress(ranges, address.Address, ReasonNode)
	}
	for _, cidr := range node.Spec.PodCIDRs {
		ranges = appendPrefix(ranges, cidr, ReasonPod)
	}
	if len(node.Spec.PodCIDRs) == 0 {
		ranges = appendPrefix(ranges, node.Spec.PodCIDR, ReasonPod)
	}
	return ranges
}

func serviceCIDRRanges(cidr *networkingv1.ServiceCIDR) []Range {
	var ranges []Range
	for _, text := range cidr.Spec.CIDRs {
		ranges = appendPrefix(ranges, text, ReasonService)
	}
	return ranges
}

func serviceRanges(service *corev1.Service) []Range {
	var ranges []Range
	for _, ip := range append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...) {
		ranges = appendAddress(ranges, ip, ReasonAPIServer)
	}
	return ranges
}

func sliceRanges(slice *discoveryv1.EndpointSlice) []Range {
	var ranges []Range
	for _, endpoint := range slice.Endpoints {
		for _, ip := range endpoint.Addresses {
			ranges = appendAddress(ranges, ip, ReasonAPIServer)
		}
	}
	return ranges
}

// hostRanges is the API server as the operator reaches it: a URL, or host and port.
func hostRanges(host string) []Range {
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	at, err := url.Parse(host)
	if err != nil {
		return nil
	}
	return appendAddress(nil, at.Hostname(), ReasonAPIServer)
}

func appendAddress(ranges []Range, text string, reason Reason) []Range {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ranges
	}
	ip = ip.WithZone("").Unmap()
	return append(ranges, Range{netip.PrefixFrom(ip, ip.BitLen()), reason})
}

func appendPrefix(ranges []Range, text string, reason Reason) []Range {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return ranges
	}
	return append(ranges, Range{prefix, reason})
}
