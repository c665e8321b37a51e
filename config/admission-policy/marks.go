// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import "github.com/fairlead-dev/fairlead/api/common"

// annotationsOnly is what every kind's annotations are held to.
func annotationsOnly() content {
	c := content{}
	c.restoreAnnotations()
	return c
}

// restoreAnnotations bounds the restore annotations: an object whose restore annotation exceeds what all
// annotations of an object may take cannot be read at its other version, and makes every list there
// fail. CEL counts characters and the webhook bytes, so that this is never the stricter of the two.
func (c *content) restoreAnnotations() {
	for _, name := range []string{common.ConversionDataAnnotation, common.V1Alpha1DataAnnotation} {
		c.require("metadata.annotations["+name+"]: must have at most 65536 characters; make the spec smaller, or take the annotation away",
			"size(object.metadata.?annotations[?%[1]s].orValue('')) <= %[2]d || (oldObject != null"+
				" && size(object.metadata.?annotations[?%[1]s].orValue('')) <= size(oldObject.metadata.?annotations[?%[1]s].orValue('')))",
			quote(name), common.MaxRestoreBytes)
	}
}

// externalServiceNames are the rules on names that a schema does not say, and whose breach others
// than the writer would suffer from: the labels by which controllers choose Services, and names that
// lead into the cluster or are addresses in disguise. They repeat rules of package
// internal/rules/externalservice.
func externalServiceNames() content {
	c := content{}
	c.restoreAnnotations()
	named := path{{field: "metadata"}, {field: "name"}}
	c.require("metadata.name: the Service gets this name, so it must be a DNS label that begins with a letter",
		"%s", named.ratcheted("size(self) <= 63 && self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"))
	labels := path{{field: "spec"}, {field: "service"}, {field: "labels"}}
	c.require("spec.service.labels: a label of kubernetes.io, k8s.io or fairlead.dev is reserved for controllers; choose another key",
		"%s", labels.ratcheted("self.all(key, !key.contains('/') || key.startsWith('app.kubernetes.io/') && key != 'app.kubernetes.io/managed-by'"+
			" || !key.split('/')[0].matches('^(.*[.])?(kubernetes[.]io|k8s[.]io|fairlead[.]dev)$'))"))
	name := path{{field: "spec"}, {field: "endpoints"}, {}, {field: "dns"}, {field: "name"}}
	c.require("spec.endpoints[*].dns.name: in-cluster and localhost names are not allowed",
		"%s", name.ratcheted("!self.matches('^(.*[.])?localhost[.]$')"))
	c.require("spec.endpoints[*].dns.name: the last label must not be a number: resolvers take such a name for an IP address",
		"%s", name.ratcheted("!self.matches('(^|[.])(0x[0-9a-f]*|[0-9]+)[.]?$')"))
	return c
}
