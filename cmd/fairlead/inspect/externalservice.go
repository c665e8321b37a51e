// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// externalService returns of each address which check it passes or fails, since when, and why it takes no traffic; and what last
// changed.
func (e *explainer) externalService(o *Object) (found []Finding) {
	source, is := o.Source.(*v1.ExternalService)
	if !is {
		return nil
	}
	service := source.DeepCopy()
	rules.Default(service)
	check := checkText(service.Spec.HealthCheck)
	for i := range service.Status.Endpoints {
		endpoint := &service.Status.Endpoints[i]
		if endpoint.Reason != "" && endpoint.Reason != v1.ReasonResolved && endpoint.Reason != v1.ReasonStaticAddresses {
			f := e.finding(o, v1.ConditionResolved, endpoint.Reason, false)
			f.About = "endpoint " + endpoint.Name
			f.Message = fmt.Sprintf("name %s was last resolved at %s, and is looked up next at %s",
				endpoint.DNSName, at(endpoint.ResolvedTime), at(endpoint.NextResolveTime))
			found = append(found, f)
		}
		for j := range endpoint.Addresses {
			found = append(found, e.address(o, service, endpoint, &endpoint.Addresses[j], check))
		}
	}
	found = append(found, e.graph.published[o.Key].leftOut(service)...)
	if f := service.Status.Fault; f.Lasts() {
		last := e.finding(o, v1.ConditionFaultInjected, string(f.Type), false)
		last.About, last.Since, last.Until = "fault", f.StartTime, &f.DeadlineTime
		last.Message = fmt.Sprintf("the annotation %s requested %q", v1.InjectFaultAnnotation, f.Request)
		found = append(found, last)
	}
	if len(service.Status.History) > 0 {
		r := &service.Status.History[0]
		found = append(found, e.last(o, "last "+strings.ToLower(r.Type), &r.Record))
	}
	return found
}

// last is the finding of the latest entry of a history.
func (e *explainer) last(o *Object, about string, r *common.Record) Finding {
	f := e.finding(o, ofHistory, r.Reason, false)
	f.About, f.Status, f.Message, f.Since, f.Override = about, r.Result, r.Message, r.CompletionTime, ""
	return f
}

// address is the finding of one address.
func (e *explainer) address(
	o *Object, service *v1.ExternalService, endpoint *v1.EndpointStatus, a *v1.AddressStatus, check string,
) Finding {
	f := Finding{Status: string(a.Health)}
	if a.Health != "" || a.Reason != "" {
		f = e.finding(o, ofAddress, a.Reason, false)
		f.Status = string(a.Health)
	}
	f.About, f.Since = fmt.Sprintf("address %s of endpoint %s", a.IP, endpoint.Name), a.LastTransitionTime
	said := []string{"it has no check"}
	switch {
	case isDrained(service, endpoint.Name) || a.Reason == v1.ProbeDenied:
		said = []string{"it is not checked"}
	case check != "":
		said = []string{"checked by " + check}
	}
	if e.graph.leaderless(o.Key) != nil && f.Status != "" { // the server may have died since
		f.Status, f.Reason, f.Meaning, f.Remedy = string(Unknown), "", "", ""
		said = append(said, "the last result that was recorded is "+a.Reason)
	}
	if a.LastProbeTime != nil {
		said = append(said, "last at "+at(a.LastProbeTime))
	}
	f.Message = strings.Join(append(said, e.graph.published[o.Key].traffic(a.IP, traffic(service, endpoint, a))), ", ")
	return f
}

func isDrained(service *v1.ExternalService, endpoint string) bool {
	return slices.ContainsFunc(service.Spec.Endpoints, func(e v1.Endpoint) bool {
		return e.Name == endpoint && e.State != nil && *e.State == v1.EndpointDrained
	})
}

// traffic returns whether an address takes traffic by the status, and why not.
func traffic(service *v1.ExternalService, endpoint *v1.EndpointStatus, a *v1.AddressStatus) string {
	var spec *v1.Endpoint
	for i := range service.Spec.Endpoints {
		if service.Spec.Endpoints[i].Name == endpoint.Name {
			spec = &service.Spec.Endpoints[i]
		}
	}
	active, fault := service.Status.ActivePriority, service.Status.Fault
	switch {
	case spec == nil:
		return "not ready: the spec no longer has the endpoint"
	case a.Reason == v1.ProbeDenied:
		return "not published, as the egress policy refuses it"
	case spec.State != nil && *spec.State == v1.EndpointDrained:
		return "not ready, as its endpoint is drained"
	case active == nil:
		return "not published, as no priority is"
	case spec.Priority != nil && *spec.Priority != *active:
		return fmt.Sprintf("not published, as its priority is %d, and %d is published", *spec.Priority, *active)
	case fault.Lasts() && fault.Type == v1.FaultBlackHole:
		return "not ready, as a fault is injected"
	case fault.Lasts() && fault.Type == v1.FaultDrain && fault.Endpoint == endpoint.Name:
		return "not published, as a fault is injected"
	case a.Health == v1.AddressUnhealthy && isPanic(service):
		return "published as ready although it fails, as no address is healthy (panicThresholdPercent)"
	case a.Health == v1.AddressUnhealthy:
		return "not ready, as its check fails"
	case a.Health == v1.AddressUnknown:
		return "not ready before its first check"
	}
	return asReady
}

func isPanic(service *v1.ExternalService) bool {
	f, counts := service.Spec.Failover, service.Status.Addresses
	return f != nil && f.PanicThresholdPercent != nil && *f.PanicThresholdPercent > 0 &&
		counts != nil && counts.Healthy == 0 && counts.Published > 0
}

// checkText names a check, as in "tcpSocket to port sql every 10s"; empty for none.
func checkText(h *v1.HealthCheck) string {
	if h == nil {
		return ""
	}
	member := "tcpSocket"
	switch {
	case h.HTTPGet != nil:
		member = "httpGet"
	case h.GRPC != nil:
		member = "grpc"
	}
	text := member + portText(h.Port())
	if h.Interval != nil {
		text += " every " + string(*h.Interval)
	}
	return text
}

func portText(port *intstr.IntOrString) string {
	if port == nil {
		return ""
	}
	return " to port " + port.String()
}
