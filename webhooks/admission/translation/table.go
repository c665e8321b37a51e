// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// rule maps the fields of v1 that begin with from. "[*]" stands for any one index. In to, names in
// braces stand for what depends on the object; see place.
type rule struct {
	from, to string
	rest     rest
}

// rest is how a path behind from is dealt with.
type rest int

const (
	exact rest = iota // v1alpha1 has the field, and what other rules name of its inside
	keep              // its inside is the same at v1alpha1
	only              // v1 alone has the field; to is where its author would look
)

// tables are the mappings of webhooks/conversion, by kind. The longest match counts. A field that has none of its own
// is one that v1 alone has, and its author looks at the nearest above it. A test goes through both schemas.
var tables = map[string][]rule{
	"ExternalService": {
		{"spec", "spec", exact},
		{"spec.ports", "spec.ports", exact},
		{"spec.ports[*]", "spec.ports{port}", exact},
		{"spec.ports[*].name", "spec.ports{port}", exact},
		{"spec.ports[*].port", "spec.ports{port}", exact},
		{"spec.endpoints", "spec.hosts", exact},
		{"spec.endpoints[*]", "spec.hosts{host}", exact},
		{"spec.endpoints[*].dns", "spec.hosts{host}", exact},
		{"spec.endpoints[*].dns.name", "spec.hosts{host}", exact},
		{"spec.endpoints[*].addresses", "spec.hosts{host}", exact},
		{"spec.endpoints[*].addresses[*]", "spec.hosts{address}", exact},
		{"spec.resolution", "spec.refreshSeconds", only},
		{"spec.resolution.minTTL", "spec.{refresh}", exact},
		{"spec.resolution.maxTTL", "spec.{refresh}", exact},
		{"spec.healthCheck", "spec.probe", exact},
		{"spec.healthCheck.tcpSocket", "spec.probe.tcpSocket", keep},
		{"spec.healthCheck.httpGet", "spec.probe.httpGet", keep},
		{"spec.healthCheck.grpc", "spec.probe.grpc", keep},
		{"spec.healthCheck.interval", "spec.probe.periodSeconds", exact},
		{"spec.healthCheck.timeout", "spec.probe.timeoutSeconds", exact},
		{"spec.healthCheck.successThreshold", "spec.probe.successThreshold", exact},
		{"spec.healthCheck.failureThreshold", "spec.probe.failureThreshold", exact},
	},
	"RebootPolicy": {
		{"spec", "spec", exact},
		{"spec.targets", "spec.target", exact},
		{"spec.targets[*]", "spec.{target}.name", exact},
		{"spec.targets[*].kind", "spec.{target}.kind", exact},
		{"spec.targets[*].name", "spec.{target}.name", exact},
		{"spec.triggers", "spec.policies", exact},
		{"spec.triggers[*]", "spec.policies{policy}", exact},
		{"spec.triggers[*].name", "spec.policies{policy}.name", exact},
		{"spec.triggers[*].description", "spec.policies{policy}.comment", exact},
		{"spec.triggers[*].probe", "spec.policies{policy}.trigger.probe", exact},
		{"spec.triggers[*].probe.interval", "spec.policies{policy}.trigger.probe.periodSeconds", exact},
		{"spec.triggers[*].probe.timeout", "spec.policies{policy}.trigger.probe.timeoutSeconds", exact},
		{"spec.triggers[*].probe.failureThreshold", "spec.policies{policy}.trigger.probe.failureThreshold", exact},
		{"spec.triggers[*].probe.successThreshold", "spec.policies{policy}.trigger.probe.successThreshold", exact},
		{"spec.triggers[*].probe.host", "spec.policies{policy}.trigger.probe{host of probe}", exact},
		{"spec.triggers[*].probe.httpGet", "spec.policies{policy}.trigger.probe.httpGet", keep},
		{"spec.triggers[*].probe.httpGet.host", "spec.policies{policy}.trigger.probe.httpGet", only},
		{"spec.triggers[*].probe.tcpSocket", "spec.policies{policy}.trigger.probe.tcpSocket", keep},
		{"spec.triggers[*].probe.grpc", "spec.policies{policy}.trigger.probe.grpc", keep},
	},
	"ClusterRebootPolicy": {
		{"spec", "spec", keep},
	},
	"ChaosPod": {
		{"spec", "spec", exact},
		{"spec.target", "spec.template", exact},
		{"spec.target.template", "spec.template", keep},
		{"spec.schedule", "spec.nextStop", only},
		{"spec.schedule.at", "spec.nextStop", exact},
	},
}
