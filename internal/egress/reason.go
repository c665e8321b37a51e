// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

// Reason is why an address is allowed or denied, for status, events and metrics.
type Reason string

// Reasons of denials that no configuration lifts.
const (
	// ReasonInvalid: there is no address.
	ReasonInvalid Reason = "Invalid"
	// ReasonZone: the address is bound to an interface.
	ReasonZone Reason = "Zone"
	// ReasonUnspecified: 0.0.0.0/8 and ::, which lead to this host.
	ReasonUnspecified Reason = "Unspecified"
	// ReasonLoopback: 127.0.0.0/8 and ::1.
	ReasonLoopback Reason = "Loopback"
	// ReasonLinkLocal: 169.254.0.0/16, where most clouds have their metadata, and fe80::/10.
	ReasonLinkLocal Reason = "LinkLocal"
	// ReasonMulticast: 224.0.0.0/4 and ff00::/8.
	ReasonMulticast Reason = "Multicast"
	// ReasonReserved: 240.0.0.0/4 with the broadcast address, fec0::/10 and 100::/64.
	ReasonReserved Reason = "Reserved"
	// ReasonTunnel: Teredo, ISATAP and the deprecated ways to write an IPv4 address as an IPv6 one.
	ReasonTunnel Reason = "Tunnel"
	// ReasonUnsynced: the ranges of the cluster are not known yet.
	ReasonUnsynced Reason = "Unsynced"
	// ReasonRebound: the connection is to another address than the one requested.
	ReasonRebound Reason = "Rebound"
)

// Reasons of denials that an allow rule lifts. Those of addresses of the cluster are lifted by the user's right as
// well.
const (
	// ReasonMetadata: a cloud's metadata service.
	ReasonMetadata Reason = "Metadata"
	// ReasonNode: an address of a node.
	ReasonNode Reason = "Node"
	// ReasonPod: in a range of pods, or the address of a pod.
	ReasonPod Reason = "Pod"
	// ReasonService: the virtual address of a Service.
	ReasonService Reason = "Service"
	// ReasonAPIServer: the API server.
	ReasonAPIServer Reason = "APIServer"
	// ReasonPodsUnknown: a private address that may be a pod's. It takes nothing away.
	ReasonPodsUnknown Reason = "PodsUnknown"
	// ReasonClusterCIDR: one of the policy's clusterCIDRs.
	ReasonClusterCIDR Reason = "ClusterCIDR"
	// ReasonDeniedByPolicy: a deny rule. No allow rule lifts it.
	ReasonDeniedByPolicy Reason = "DeniedByPolicy"
	// ReasonNotAllowed: no allow rule of a policy that denies by default.
	ReasonNotAllowed Reason = "NotAllowed"
)

// Reasons of permissions.
const (
	// ReasonAllowed: nothing denies it.
	ReasonAllowed Reason = "Allowed"
	// ReasonAuthorized: it is in the cluster, and the user has the right to publish it.
	ReasonAuthorized Reason = "Authorized"
)

// details are sentences about an address, without its subject.
var details = map[Reason]string{
	ReasonInvalid:        "is no IP address",
	ReasonZone:           "is bound to a network interface of the operator",
	ReasonUnspecified:    "is unspecified and leads to the host itself",
	ReasonLoopback:       "is a loopback address",
	ReasonLinkLocal:      "is a link-local address",
	ReasonMulticast:      "is a multicast address",
	ReasonReserved:       "is a reserved address",
	ReasonTunnel:         "is of a tunnel, or of a deprecated notation of an IPv4 address",
	ReasonUnsynced:       "cannot be checked before the operator has read the ranges of the cluster",
	ReasonRebound:        "is not the address that was asked for",
	ReasonMetadata:       "is the metadata service of a cloud",
	ReasonNode:           "is an address of a node",
	ReasonPod:            "is an address of pods",
	ReasonPodsUnknown:    "is a private address, and may be that of a pod: the operator can neither read pods nor find out their ranges",
	ReasonService:        "is in a range of Services",
	ReasonAPIServer:      "is the API server",
	ReasonClusterCIDR:    "is in a range that the egress policy counts as the cluster's",
	ReasonDeniedByPolicy: "is denied by the egress policy",
	ReasonNotAllowed:     "is not among what the egress policy allows",
	ReasonAllowed:        "is allowed",
	ReasonAuthorized:     "is in the cluster, and its writer may publish it",
}

// IsUnknown reports whether the reason is that something is not known. What is published stays then, and nothing new is.
func (r Reason) IsUnknown() bool { return r == ReasonUnsynced || r == ReasonPodsUnknown }

// InCluster reports whether the reason is that the address is in the cluster, or may be.
func (r Reason) InCluster() bool {
	switch r {
	case ReasonNode, ReasonPod, ReasonPodsUnknown, ReasonService, ReasonAPIServer, ReasonClusterCIDR:
		return true
	}
	return false
}
