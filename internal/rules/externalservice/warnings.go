// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Warnings returns what is allowed and probably not meant. Of the old object of an update it reads whether that was observed.
func Warnings(obj, old *v1.ExternalService) []string {
	spec, out := &obj.Spec, warnings(nil)
	if spec.Service != nil && ptr.Deref(spec.Service.Type, v1.ServiceClusterIP) == v1.ServiceHeadless {
		out.headless(spec)
	}
	out.endpoints(spec.Endpoints)
	if r := spec.Resolution; r != nil && ptr.Deref(r.OnFailure, v1.ResolutionKeepLast) == v1.ResolutionKeepLast &&
		ptr.Deref(r.KeepLastFor, defaultKeepLastFor) != defaultKeepLastFor {
		out.add("spec.resolution.keepLastFor: has no effect while onFailure is KeepLast, which keeps addresses for good; set onFailure to Remove")
	}
	if spec.HealthCheck != nil {
		out = append(out, rules.CheckWarnings(rules.At("spec", "healthCheck"), &spec.HealthCheck.Check)...)
	}
	request, err := ParseFault(common.TokenOf(obj, v1.InjectFaultAnnotation))
	if err == nil && request.At.IsZero() && (old == nil || old.Status.ObservedGeneration <= 0) {
		out = append(out, rules.EarlyRequest(obj, v1.InjectFaultAnnotation)...)
	}
	return out
}

type warnings []string

func (w *warnings) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// headless warns of ports that differ, which the Service does not translate.
func (w *warnings) headless(spec *v1.ExternalServiceSpec) {
	for i, p := range spec.Ports {
		if target := ptr.Deref(p.TargetPort, p.Port); target != p.Port {
			w.add("spec.ports[%d]: a headless Service does not translate ports: clients must connect to %d, not %d", i, target, p.Port)
		}
	}
	for i := range spec.Endpoints {
		if e := &spec.Endpoints[i]; len(e.Ports) > 0 {
			w.add("spec.endpoints[%d].ports: a headless Service does not translate ports: clients must know the ports of endpoint %q", i, e.Name)
		}
	}
}

func (w *warnings) endpoints(list []v1.Endpoint) {
	drained, first := 0, map[v1.IPAddress]string{}
	for i := range list {
		e := &list[i]
		if ptr.Deref(e.State, v1.EndpointActive) == v1.EndpointDrained {
			drained++
		}
		if e.DNS != nil && !strings.Contains(strings.TrimSuffix(e.DNS.Name, "."), ".") {
			w.add("spec.endpoints[%d].dns.name: %q is looked up as it is, without the cluster's search path; give the full name", i, e.DNS.Name)
		}
		for j, address := range e.Addresses {
			if other, listed := first[address]; listed && other != e.Name {
				w.add("spec.endpoints[%d].addresses[%d]: %s is also listed in endpoint %q", i, j, address, other)
				continue
			}
			first[address] = e.Name
		}
	}
	if drained > 0 && drained == len(list) {
		w.add("spec.endpoints: every endpoint is Drained: the Service will have no address")
	}
}
