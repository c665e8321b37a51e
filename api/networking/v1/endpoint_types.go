// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Endpoint is one place outside the cluster: a DNS name, or addresses.
//
// +kubebuilder:validation:XValidation:rule="has(self.dns) != has(self.addresses)",message="set exactly one of dns or addresses"
type Endpoint struct {
	// name of the endpoint, unique within the object. Status, events and metrics use it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +required
	Name string `json:"name,omitempty"`

	// dns is a name to look up. Exactly one of dns and addresses is set.
	// +optional
	DNS *DNSName `json:"dns,omitempty"`

	// addresses are IPv4 or IPv6 literals in canonical form, 1 to 100. Loopback, unspecified,
	// link-local, multicast and reserved addresses are refused (CVE-2021-25737).
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Addresses []IPAddress `json:"addresses,omitempty"`

	// priority from 0 to 9, where 0 is the most preferred. The lowest number with enough healthy addresses is published.
	// The default is 0; other values need healthCheck.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// zone is the topology zone that the endpoint is near. EndpointSlices publish it with the addresses.
	//
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Zone *string `json:"zone,omitempty"`

	// ports are the ports that differ at this endpoint, each by the name of a port of spec.ports.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Ports []EndpointPort `json:"ports,omitempty"`

	// state is Active (the default), or Drained, which takes the endpoint out of service without
	// forgetting it.
	// +optional
	State *EndpointState `json:"state,omitempty"`
}

// EndpointState is Active or Drained.
//
// +kubebuilder:validation:Enum=Active;Drained
type EndpointState string

const (
	// EndpointActive endpoints are checked and published.
	EndpointActive EndpointState = "Active"
	// EndpointDrained endpoints are not published.
	EndpointDrained EndpointState = "Drained"
)

// IPAddress is an IPv4 or IPv6 literal in canonical form.
//
// +kubebuilder:validation:MaxLength=45
// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address",messageExpression="self.contains('/') ? 'must be an IP address: a range cannot be listed' : self.matches('^([0-9.]+|[[].*[]]):[0-9]*$') ? 'must be an IP address: the port goes to spec.ports' : !self.contains(':') && self.matches('[g-zG-Z]') ? 'must be an IP address: use dns.name for a name' : 'must be an IP address'"
// +kubebuilder:validation:XValidation:rule="isIP(self) ? (!ip(self).isLoopback() && !ip(self).isUnspecified() && !ip(self).isLinkLocalUnicast() && !ip(self).isLinkLocalMulticast()) : true",message="loopback, unspecified, link-local and multicast link-local addresses are not allowed"
// +kubebuilder:validation:XValidation:rule="isIP(self) ? !(ip(self).family() == 4 && cidr('224.0.0.0/3').containsIP(self)) && !(ip(self).family() == 6 && cidr('ff00::/8').containsIP(self)) : true",message="multicast and reserved addresses are not allowed"
// +kubebuilder:validation:XValidation:rule="isIP(self) ? ip.isCanonical(self) : true",message="must be in canonical form"
type IPAddress string

// DNSName is a name to look up, and what to look up.
type DNSName struct {
	// name outside of the cluster, with or without a final dot. Upper case counts as lower case. The operator checks on every
	// lookup that it does not lead into the cluster: this rule does not know the cluster's own domain.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || self.matches('^([a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9])?[.])*[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?[.]?$')",message="must be a DNS name, such as db.example.com",messageExpression="self.matches('^([0-9.]+|[0-9a-fA-F]*:[0-9a-fA-F:.]*)/[0-9]+$') ? 'must be a DNS name: a range cannot be looked up' : self.contains('/') ? 'must be a DNS name: leave out scheme and path' : self.contains(':') ? 'must be a DNS name: the port goes to spec.ports' : self.contains('*') ? 'must be a DNS name: a wildcard cannot be looked up' : 'must be a DNS name, such as db.example.com'"
	// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="use addresses for an IP"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().matches('[.]svc([.]cluster[.]local)?[.]?$|^[^.]+[.].*[.]svc[.]') && self.lowerAscii() != 'localhost' && !self.lowerAscii().endsWith('.localhost')",message="in-cluster and localhost names are not allowed"
	// +required
	Name string `json:"name,omitempty"`

	// recordType is Address (the default) for A and AAAA records, or SRV.
	// +optional
	RecordType *RecordType `json:"recordType,omitempty"`
}

// RecordType is Address or SRV.
//
// +kubebuilder:validation:Enum=Address;SRV
type RecordType string

const (
	// RecordAddress looks up A and AAAA records.
	RecordAddress RecordType = "Address"
	// RecordSRV looks up SRV records, whose ports override targetPort.
	RecordSRV RecordType = "SRV"
)

// EndpointPort is a port that differs at one endpoint.
type EndpointPort struct {
	// name of a port of spec.ports.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name,omitempty"`

	// port to connect to at this endpoint, instead of targetPort.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +required
	Port int32 `json:"port,omitempty"`
}

// Resolution says how DNS names are looked up.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minTTL) || !has(self.maxTTL) || duration(self.minTTL) <= duration(self.maxTTL) || !self.minTTL.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || !self.maxTTL.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="minTTL must not exceed maxTTL"
type Resolution struct {
	// minTTL is the shortest time between two lookups, whatever the records say. The default is
	// 30s, or maxTTL where that is shorter.
	//
	// +optional
	MinTTL *common.Duration `json:"minTTL,omitempty"`

	// maxTTL is the longest time between two lookups. The default is 1h, or minTTL where that is
	// longer.
	//
	// +optional
	MaxTTL *common.Duration `json:"maxTTL,omitempty"`

	// onFailure determines what happens to the addresses of a name that no longer resolves. KeepLast (the default) keeps
	// them. Remove removes them after keepLastFor.
	// +optional
	OnFailure *ResolutionFailurePolicy `json:"onFailure,omitempty"`

	// keepLastFor is how long onFailure Remove keeps the addresses after the last successful lookup. It has no effect
	// with KeepLast. The default is 24h.
	//
	// +optional
	KeepLastFor *common.Duration `json:"keepLastFor,omitempty"`
}

// ResolutionFailurePolicy is KeepLast or Remove.
//
// +kubebuilder:validation:Enum=KeepLast;Remove
type ResolutionFailurePolicy string

const (
	// ResolutionKeepLast keeps the last addresses until the name resolves again.
	ResolutionKeepLast ResolutionFailurePolicy = "KeepLast"
	// ResolutionRemove removes the last addresses after keepLastFor.
	ResolutionRemove ResolutionFailurePolicy = "Remove"
)
