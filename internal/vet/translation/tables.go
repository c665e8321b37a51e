// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// tables are the mappings of webhooks/conversion, by kind. The longest match counts.
var tables = map[string][]rule{
	"ExternalService": {
		{"spec.endpoints", "spec.hosts", drop},
		{"spec.endpoints[*]", "spec.hosts[*]", drop},
		{"spec.ports", "spec.ports", drop},
		{"spec.ports[*]", "spec.ports.{port}", drop},
		{"spec.resolution", "spec.refreshSeconds", about},
		{"spec.resolution.minTTL", "spec.refreshSeconds", drop},
		{"spec.resolution.maxTTL", "spec.refreshSeconds", drop},
		{"spec.healthCheck", "spec.probe", block},
		{"spec.healthCheck.interval", "spec.probe.periodSeconds", drop},
		{"spec.healthCheck.timeout", "spec.probe.timeoutSeconds", drop},
		{"spec.healthCheck.healthyThreshold", "spec.probe.successThreshold", drop},
		{"spec.healthCheck.unhealthyThreshold", "spec.probe.failureThreshold", drop},
		{"spec.healthCheck.port", "spec.probe.{handler}.port", drop},
		{"spec.healthCheck.tcp", "spec.probe.tcpSocket", drop},
		{"spec.healthCheck.http", "spec.probe.httpGet", keep},
		{"spec.healthCheck.grpc", "spec.probe.grpc", block},
		{"spec.healthCheck.grpc.service", "spec.probe.grpc.service", drop},
	},
	"RebootPolicy": {
		{"spec.targets", "spec.target", drop},
		{"spec.targets[*]", "spec.target", block},
		{"spec.targets[*].kind", "spec.target.kind", drop},
		{"spec.targets[*].name", "spec.target.name", drop},
		{"spec.triggers", "spec.policies", drop},
		{"spec.triggers[*]", "spec.policies[*]", block},
		{"spec.triggers[*].name", "spec.policies[*].name", drop},
		{"spec.triggers[*].description", "spec.policies[*].comment", drop},
		{"spec.triggers[*].probe", "spec.policies[*].trigger.probe", keep},
		{"spec.triggers[*].probe.period", "spec.policies[*].trigger.probe.periodSeconds", drop},
		{"spec.triggers[*].probe.timeout", "spec.policies[*].trigger.probe.timeoutSeconds", drop},
		{"spec.triggers[*].probe.minUnhealthy", "spec.policies[*].trigger.probe", about},
		{"spec.triggers[*].probe.httpGet.headers", "spec.policies[*].trigger.probe.httpGet.httpHeaders", keep},
		{"spec.triggers[*].probe.exec.container", "spec.policies[*].trigger.probe.exec", about},
	},
	"ChaosPod": {
		{"spec.target", "spec.template", about},
		{"spec.target.template", "spec.template", keep},
		{"spec.schedule", "spec.nextStop", about},
		{"spec.schedule.at", "spec.nextStop", drop},
	},
}

// words are messages of v1 that name fields, as they read at v1alpha1. Others hold at both.
var words = map[string]map[string]string{
	"ExternalService": {
		"timeout must not exceed interval":                     "timeoutSeconds must not exceed periodSeconds",
		"healthCheck.port is required with more than one port": "must be the number of one of spec.ports",
		"exactly one of tcp, http, grpc is required":           "exactly one of tcpSocket, httpGet, grpc is required",
	},
	"RebootPolicy": {
		"timeout must not exceed period": "timeoutSeconds must not exceed periodSeconds",
	},
}

// Words answers a message of v1 as its author's version says it.
func Words(kind, message string) string {
	if own, has := words[kind][message]; has {
		return own
	}
	return message
}
