// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// setFamilies records the address families of a Service, and who has chosen them. A headless one publishes addresses of any.
func (p *published) setFamilies(service *corev1.Service) {
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		p.families = service.Spec.IPFamilies
		p.isSingleStack = ptr.Deref(service.Spec.IPFamilyPolicy, "") == corev1.IPFamilyPolicySingleStack
	}
}

// lacks reports whether the Service has a family alone, and an address is of the other one.
func (p *published) lacks(address string) bool {
	ip, err := netip.ParseAddr(address)
	if p == nil || err != nil || len(p.families) != 1 {
		return false
	}
	return ip.Is4() != (p.families[0] == corev1.IPv4Protocol)
}

// familyRemedy returns the remedy for an endpoint without an address of a family of the Service.
func (p *published) familyRemedy() string {
	if p == nil || len(p.families) != 1 {
		return "Give the endpoint an address of a family that the Service has (its spec.ipFamilies), or a name that has one."
	}
	remedy := fmt.Sprintf("Give the endpoint an address of family %s, or a name that has one.", p.families[0])
	if p.isSingleStack {
		return remedy + " If the cluster has both families, set spec.service.ipFamilyPolicy to PreferDualStack."
	}
	return remedy + " If the cluster has got both families after the Service was created, set spec.service.ipFamilyPolicy to RequireDualStack."
}

// leftOut returns a finding for each endpoint that has an address of a family which the Service lacks. Such addresses are not
// published.
func (p *published) leftOut(service *v1.ExternalService) (found []Finding) {
	for i := range service.Spec.Endpoints {
		endpoint := &service.Spec.Endpoints[i]
		var lacking []string
		for _, address := range endpoint.Addresses {
			if p.lacks(string(address)) {
				lacking = append(lacking, string(address))
			}
		}
		of := events.Summarize(lacking)
		if endpoint.DNS != nil && p != nil && len(p.families) == 1 && hasNoneOfTheService(service, endpoint) {
			of = "each address of " + endpoint.DNS.Name
		}
		if of == "" || isDrained(service, endpoint.Name) {
			continue
		}
		verb := "is"
		if len(lacking) > 1 {
			verb = "are"
		}
		found = append(found, Finding{
			About: "endpoint " + endpoint.Name, Message: fmt.Sprintf("%s %s left out: the Service has addresses of family %s alone", of, verb, p.families[0]),
			Meaning: "Clients reach no address of another family through the Service, so that it is neither checked nor published", Remedy: p.familyRemedy(),
		})
	}
	return found
}

// hasNoneOfTheService reports whether a name resolves, and no address of it may be published. The egress policy has refused none.
func hasNoneOfTheService(service *v1.ExternalService, endpoint *v1.Endpoint) bool {
	return slices.ContainsFunc(service.Status.Endpoints, func(e v1.EndpointStatus) bool {
		return e.Name == endpoint.Name && e.Reason == v1.ReasonResolved && len(e.Addresses) == 0
	})
}

// addressRemedy returns the remedy for an ExternalService that has no address to publish. It names what each endpoint lacks.
func (p *published) addressRemedy(service *v1.ExternalService) string {
	var all []string
	for i := range service.Spec.Endpoints {
		endpoint := &service.Spec.Endpoints[i]
		isRefused := slices.ContainsFunc(service.Status.Endpoints, func(e v1.EndpointStatus) bool {
			return e.Name == endpoint.Name && e.Reason == v1.ReasonDenied
		})
		remedy := "Correct the name of endpoint " + endpoint.Name + ", or see why it does not resolve."
		switch {
		case isDrained(service, endpoint.Name):
			remedy = "Set an endpoint to Active."
		case isRefused:
			remedy = "Have an administrator allow the addresses of endpoint " + endpoint.Name + " (docs/guides/egress.md)."
		case endpoint.DNS == nil, hasNoneOfTheService(service, endpoint): // an address that is refused has another reason
			remedy = p.familyRemedy()
		}
		if !slices.Contains(all, remedy) && len(all) < events.MaxNamed {
			all = append(all, remedy)
		}
	}
	return strings.Join(all, " ")
}
