// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Warnings are what is allowed and probably not meant, in the order of the spec's fields. They
// need no reads; the update's old object makes no difference to them.
func Warnings(obj, _ *v1.ExternalService) []string {
	spec := &obj.Spec
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	headless := spec.Service != nil && ptr.Deref(spec.Service.Type, v1.ServiceClusterIP) == v1.ServiceHeadless
	for i, p := range spec.Ports {
		if target := ptr.Deref(p.TargetPort, p.Port); headless && target != p.Port {
			warn("spec.ports[%d]: a headless Service does not translate ports: clients must connect to %d, not %d", i, target, p.Port)
		}
	}

	drained, at := 0, map[v1.IPAddress]string{}
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if ptr.Deref(e.State, v1.EndpointActive) == v1.EndpointDrained {
			drained++
		}
		if headless && len(e.Ports) > 0 {
			warn("spec.endpoints[%d].ports: a headless Service does not translate ports: clients must know the ports of endpoint %q", i, e.Name)
		}
		if e.DNS != nil && !strings.Contains(strings.TrimSuffix(e.DNS.Name, "."), ".") {
			warn("spec.endpoints[%d].dns.name: %q is looked up as it is, without the cluster's search path; give the full name", i, e.DNS.Name)
		}
		for j, address := range e.Addresses {
			if other, stood := at[address]; stood && other != e.Name {
				warn("spec.endpoints[%d].addresses[%d]: %s is also listed in endpoint %q", i, j, address, other)
				continue
			}
			at[address] = e.Name
		}
	}
	if drained > 0 && drained == len(spec.Endpoints) {
		warn("spec.endpoints: every endpoint is Drained: the Service will have no address")
	}
	if r := spec.Resolution; r != nil && ptr.Deref(r.OnFailure, v1.ResolutionKeepLast) == v1.ResolutionKeepLast && ptr.Deref(r.KeepLastFor, defaultKeepLastFor) != defaultKeepLastFor {
		warn("spec.resolution.keepLastFor: has no effect while onFailure is KeepLast, which keeps addresses for good; set onFailure to Remove")
	}
	if h := spec.HealthCheck; h != nil && h.TLS != nil && ptr.Deref(h.TLS.InsecureSkipVerify, false) {
		warn("spec.healthCheck.tls.insecureSkipVerify: the check accepts any certificate")
		if h.TLS.CASecretName != "" {
			warn("spec.healthCheck.tls.caSecretName: has no effect with insecureSkipVerify")
		}
	}
	return out
}
