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
		{"spec.healthCheck.port", "spec.probe{handler}", exact},
		{"spec.healthCheck.tcp", "spec.probe.tcpSocket", exact},
		{"spec.healthCheck.http", "spec.probe.httpGet", exact},
		{"spec.healthCheck.http.path", "spec.probe.httpGet.path", exact},
		{"spec.healthCheck.http.host", "spec.probe.httpGet.host", exact},
		{"spec.healthCheck.http.scheme", "spec.probe.httpGet.scheme", exact},
		{"spec.healthCheck.grpc", "spec.probe.grpc", exact},
		{"spec.healthCheck.grpc.service", "spec.probe.grpc.service", exact},
		{"spec.healthCheck.interval", "spec.probe.periodSeconds", exact},
		{"spec.healthCheck.timeout", "spec.probe.timeoutSeconds", exact},
		{"spec.healthCheck.healthyThreshold", "spec.probe.successThreshold", exact},
		{"spec.healthCheck.unhealthyThreshold", "spec.probe.failureThreshold", exact},
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
		{"spec.triggers[*].probe.period", "spec.policies{policy}.trigger.probe.periodSeconds", exact},
		{"spec.triggers[*].probe.timeout", "spec.policies{policy}.trigger.probe.timeoutSeconds", exact},
		{"spec.triggers[*].probe.failureThreshold", "spec.policies{policy}.trigger.probe.failureThreshold", exact},
		{"spec.triggers[*].probe.successThreshold", "spec.policies{policy}.trigger.probe.successThreshold", exact},
		{"spec.triggers[*].probe.httpGet", "spec.policies{policy}.trigger.probe.httpGet", keep},
		{"spec.triggers[*].probe.httpGet.headers", "spec.policies{policy}.trigger.probe.httpGet.httpHeaders", keep},
		{"spec.triggers[*].probe.tcpSocket", "spec.policies{policy}.trigger.probe.tcpSocket", keep},
		{"spec.triggers[*].probe.grpc", "spec.policies{policy}.trigger.probe.grpc", keep},
		{"spec.triggers[*].probe.grpc.host", "spec.policies{policy}.trigger.probe.grpc", only},
		{"spec.triggers[*].probe.exec", "spec.policies{policy}.trigger.probe.exec", keep},
		{"spec.triggers[*].probe.exec.container", "spec.policies{policy}.trigger.probe.exec", only},
	},
	"ChaosPod": {
		{"spec", "spec", exact},
		{"spec.target", "spec.template", exact},
		{"spec.target.template", "spec.template", keep},
		{"spec.schedule", "spec.nextStop", only},
		{"spec.schedule.at", "spec.nextStop", exact},
	},
}
