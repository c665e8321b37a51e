// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// rule maps the fields of v1 that begin with from. "[*]" stands for any one index. In to, names in
// braces stand for what depends on the object; see places.
type rule struct {
	from, to string
	rest     rest
}

// rest is how a path behind from is dealt with.
type rest int

const (
	keep  rest = iota // it reads the same at v1alpha1
	whole             // all of it is said by the one field of v1alpha1
	block             // v1alpha1 has the field itself, and what other rules say of its inside
	only              // v1 alone has the field; to is where its author would look
)

// tables are the mappings of webhooks/conversion, by kind. The longest match counts, and every field of
// v1 has one: a test goes through the schemas.
var tables = map[string][]rule{
	"ExternalService": {
		{"spec", "spec", block},
		{"spec.suspend", "spec", only},
		{"spec.service", "spec", only},
		{"spec.ports", "spec.ports", block},
		{"spec.ports[*]", "spec.ports{port}", block},
		{"spec.ports[*].name", "spec.ports{port}", whole},
		{"spec.ports[*].port", "spec.ports{port}", whole},
		{"spec.ports[*].targetPort", "spec.ports{port}", only},
		{"spec.ports[*].protocol", "spec.ports{port}", only},
		{"spec.ports[*].appProtocol", "spec.ports{port}", only},
		{"spec.endpoints", "spec.hosts", block},
		{"spec.endpoints[*]", "spec.hosts{host}", block},
		{"spec.endpoints[*].name", "spec.hosts{host}", only},
		{"spec.endpoints[*].dns", "spec.hosts{host}", block},
		{"spec.endpoints[*].dns.name", "spec.hosts{host}", whole},
		{"spec.endpoints[*].dns.recordType", "spec.hosts{host}", only},
		{"spec.endpoints[*].addresses", "spec.hosts{host}", whole},
		{"spec.endpoints[*].addresses[*]", "spec.hosts{address}", whole},
		{"spec.endpoints[*].priority", "spec.hosts{host}", only},
		{"spec.endpoints[*].zone", "spec.hosts{host}", only},
		{"spec.endpoints[*].ports", "spec.hosts{host}", only},
		{"spec.endpoints[*].state", "spec.hosts{host}", only},
		{"spec.resolution", "spec.refreshSeconds", only},
		{"spec.resolution.minTTL", "spec.{refresh}", whole},
		{"spec.resolution.maxTTL", "spec.{refresh}", whole},
		{"spec.healthCheck", "spec.probe", block},
		{"spec.healthCheck.port", "spec.probe{handler}", whole},
		{"spec.healthCheck.tcp", "spec.probe.tcpSocket", block},
		{"spec.healthCheck.http", "spec.probe.httpGet", block},
		{"spec.healthCheck.http.path", "spec.probe.httpGet.path", whole},
		{"spec.healthCheck.http.host", "spec.probe.httpGet.host", whole},
		{"spec.healthCheck.http.scheme", "spec.probe.httpGet.scheme", whole},
		{"spec.healthCheck.http.expectedStatuses", "spec.probe.httpGet", only},
		{"spec.healthCheck.grpc", "spec.probe.grpc", block},
		{"spec.healthCheck.grpc.service", "spec.probe.grpc.service", whole},
		{"spec.healthCheck.grpc.authority", "spec.probe.grpc", only},
		{"spec.healthCheck.tls", "spec.probe", only},
		{"spec.healthCheck.interval", "spec.probe.periodSeconds", whole},
		{"spec.healthCheck.unhealthyInterval", "spec.probe", only},
		{"spec.healthCheck.timeout", "spec.probe.timeoutSeconds", whole},
		{"spec.healthCheck.jitterPercent", "spec.probe", only},
		{"spec.healthCheck.healthyThreshold", "spec.probe.successThreshold", whole},
		{"spec.healthCheck.unhealthyThreshold", "spec.probe.failureThreshold", whole},
		{"spec.failover", "spec", only},
		{"spec.deletionPolicy", "spec", only},
	},
	"RebootPolicy": {
		{"spec", "spec", block},
		{"spec.suspend", "spec", only},
		{"spec.dryRun", "spec", only},
		{"spec.serviceAccountName", "spec", only},
		{"spec.targets", "spec.target", block},
		{"spec.targets[*]", "spec.{target}", block},
		{"spec.targets[*].kind", "spec.{target}.kind", whole},
		{"spec.targets[*].name", "spec.{target}.name", whole},
		{"spec.targets[*].selector", "spec.{target}", only},
		{"spec.targets[*].wave", "spec.{target}", only},
		{"spec.triggers", "spec.policies", block},
		{"spec.triggers[*]", "spec.policies{policy}", block},
		{"spec.triggers[*].name", "spec.policies{policy}.name", whole},
		{"spec.triggers[*].description", "spec.policies{policy}.comment", whole},
		{"spec.triggers[*].type", "spec.policies{policy}", only},
		{"spec.triggers[*].configChange", "spec.policies", only},
		{"spec.triggers[*].certificateRenewal", "spec.policies", only},
		{"spec.triggers[*].schedule", "spec.policies", only},
		{"spec.triggers[*].podAge", "spec.policies", only},
		{"spec.triggers[*].endpointsChange", "spec.policies", only},
		{"spec.triggers[*].probe", "spec.policies{policy}.trigger.probe", block},
		{"spec.triggers[*].probe.period", "spec.policies{policy}.trigger.probe.periodSeconds", whole},
		{"spec.triggers[*].probe.timeout", "spec.policies{policy}.trigger.probe.timeoutSeconds", whole},
		{"spec.triggers[*].probe.failureThreshold", "spec.policies{policy}.trigger.probe.failureThreshold", whole},
		{"spec.triggers[*].probe.successThreshold", "spec.policies{policy}.trigger.probe.successThreshold", whole},
		{"spec.triggers[*].probe.minUnhealthy", "spec.policies{policy}.trigger.probe", only},
		{"spec.triggers[*].probe.httpGet", "spec.policies{policy}.trigger.probe.httpGet", keep},
		{"spec.triggers[*].probe.httpGet.headers", "spec.policies{policy}.trigger.probe.httpGet.httpHeaders", keep},
		{"spec.triggers[*].probe.tcpSocket", "spec.policies{policy}.trigger.probe.tcpSocket", keep},
		{"spec.triggers[*].probe.grpc", "spec.policies{policy}.trigger.probe.grpc", keep},
		{"spec.triggers[*].probe.grpc.host", "spec.policies{policy}.trigger.probe.grpc", only},
		{"spec.triggers[*].probe.exec", "spec.policies{policy}.trigger.probe.exec", keep},
		{"spec.triggers[*].probe.exec.container", "spec.policies{policy}.trigger.probe.exec", only},
		{"spec.strategy", "spec", only},
		{"spec.debounce", "spec", only},
		{"spec.cooldown", "spec", only},
		{"spec.limit", "spec", only},
		{"spec.retry", "spec", only},
		{"spec.concurrency", "spec", only},
		{"spec.windows", "spec", only},
		{"spec.blackouts", "spec", only},
		{"spec.gates", "spec", only},
		{"spec.verification", "spec", only},
		{"spec.historyLimit", "spec", only},
	},
	"ChaosPod": {
		{"spec", "spec", block},
		{"spec.suspend", "spec", only},
		{"spec.dryRun", "spec", only},
		{"spec.serviceAccountName", "spec", only},
		{"spec.target", "spec.template", block},
		{"spec.target.template", "spec.template", keep},
		{"spec.target.workload", "spec.template", only},
		{"spec.target.selector", "spec.template", only},
		{"spec.schedule", "spec.nextStop", only},
		{"spec.schedule.at", "spec.nextStop", whole},
		{"spec.action", "spec", only},
		{"spec.count", "spec", only},
		{"spec.filter", "spec", only},
		{"spec.safety", "spec", only},
		{"spec.windows", "spec", only},
		{"spec.blackouts", "spec", only},
		{"spec.verification", "spec", only},
	},
}
