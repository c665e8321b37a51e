// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"regexp"
	"strings"
)

// eitherName is the message of v1 about a target: v1alpha1 has no selectors.
const eitherName = "set exactly one of name or selector"

// words are what messages of v1 say and what v1alpha1 calls it, by kind. Messages without any of it
// read the same at both.
var words = map[string][]string{
	"ExternalService": {
		"timeout must not exceed interval", "timeoutSeconds must not exceed periodSeconds",
		"interval must be at least 1s and below 292 years", "periodSeconds must be at least 1",
		"healthCheck.port must name one of ports", "must be the number of one of spec.ports",
		"healthCheck.port is required with more than one port", "must be the number of one of spec.ports",
		"set exactly one of tcp, http, grpc", "set exactly one of tcpSocket, httpGet, grpc",
		"set exactly one of dns or addresses", "must be one DNS name or one IP address",
		"use addresses for an IP", "must be a DNS name here, which an IP address is not",
		"must be an IP address: use dns.name for a name", "must be an IP address",
		"port and protocol must be unique", "two ports must not have the same number",
		"needs healthCheck", "needs spec.probe",
	},
	"RebootPolicy": {
		"timeout must not exceed period", "timeoutSeconds must not exceed periodSeconds",
		"period must be at least 1s", "periodSeconds must be at least 1",
		eitherName, "name is required",
		"supported yet: trigger ", "supported yet: policy ",
		"leave the trigger out", "leave the policy out",
		"in spec.serviceAccountName", "in spec.serviceAccountName, at v1",
		"use spec.suspend to pause", "use spec.suspend, at v1, to pause",
	},
	"ChaosPod": {
		"target.template cannot be added or removed", "the template cannot be filled in or taken away",
		"set exactly one of workload, selector, template", "a template is required",
		"set one of cron, interval, at", "set nextStop, or cron or interval at v1",
		"count must be 1 with target.template", "count must be 1 with a template",
		"use spec.suspend to pause", "use spec.suspend, at v1, to pause",
	},
}

// always holds for every kind: the restore annotation of what is written at v1alpha1 already.
var always = []string{", or write the object at " + Version, ""}

// endpointName is how messages name an endpoint. Those that v1alpha1 makes have names of their own,
// which users have not seen.
var endpointName = regexp.MustCompile(`endpoint "[^"]*"`)

// Words returns a message of v1 in the words of v1alpha1.
func (o *Object) Words(message string) string {
	message = strings.NewReplacer(append(words[o.kind], always...)...).Replace(message)
	return endpointName.ReplaceAllStringFunc(message, func(named string) string {
		name := strings.Trim(strings.TrimPrefix(named, "endpoint "), `"`)
		for i, endpoint := range list(o.stored, "spec", "endpoints") {
			if at := o.Field("spec.endpoints" + index(i)); text(endpoint, "name") == name && at.Exact() {
				return at.Path
			}
		}
		return named
	})
}
