// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	services = kind{Kind: "Service", resource: "services", group: corev1.SchemeGroupVersion}
	slicesOf = kind{Kind: "EndpointSlice", resource: "endpointslices", group: discoveryv1.SchemeGroupVersion}
)

// published holds the Service of an ExternalService and its EndpointSlices. An address is reachable at a port of the Service if
// a slice that lists the address as ready has a port of that name.
type published struct {
	isUnread  bool
	noService bool
	// families are those of the Service; nil if unknown or irrelevant. isSingleStack means that the Service must have exactly
	// one.
	families      []corev1.IPFamily
	isSingleStack bool
	// ports are the names of the Service's.
	ports []string
	// ready are the ports of ready addresses.
	ready map[string]map[string]bool
}

// ReadPublished adds what is published of an ExternalService, for its Explanation.
func (g *Graph) ReadPublished(ctx context.Context, from client.Reader, of Key) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	p := &published{ready: map[string]map[string]bool{}}
	unread := func(k kind, verb string, err error) {
		p.isUnread = true
		g.Unread = append(g.Unread, Unread{Resource: k.groupResource(), Message: words(err, k, verb, of.Namespace)})
	}
	var service corev1.Service
	if err := from.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, &service); apierrors.IsNotFound(err) {
		p.noService = true
	} else if err != nil {
		unread(services, "get", err)
	}
	p.setFamilies(&service)
	for i := range service.Spec.Ports {
		p.ports = append(p.ports, service.Spec.Ports[i].Name)
	}
	var list discoveryv1.EndpointSliceList
	ofService := client.MatchingLabels{discoveryv1.LabelServiceName: of.Name}
	if err := from.List(ctx, &list, client.InNamespace(of.Namespace), ofService); err != nil {
		unread(slicesOf, "list", err)
	}
	for i := range list.Items {
		p.add(&list.Items[i])
	}
	if g.published == nil {
		g.published = map[Key]*published{}
	}
	g.published[of] = p
}

func (p *published) add(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		if !ptr.Deref(e.Conditions.Ready, true) {
			continue
		}
		for _, address := range e.Addresses {
			address = canonical(address)
			if p.ready[address] == nil {
				p.ready[address] = map[string]bool{}
			}
			for _, port := range slice.Ports {
				if port.Port != nil {
					p.ready[address][ptr.Deref(port.Name, "")] = true
				}
			}
		}
	}
}

func canonical(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.String()
	}
	return address
}

// asReady describes an address that is published as ready by its status.
const asReady = "published as ready"

// traffic returns whether an address takes traffic. By its status it does where that is asReady, and otherwise it does not, for
// the reason that is given.
func (p *published) traffic(address, byStatus string) string {
	if p == nil || p.isUnread {
		return "by its status " + byStatus
	}
	ports, isReady := p.ready[canonical(address)]
	switch {
	case p.noService:
		return "takes no traffic, as the Service does not exist"
	case !isReady && byStatus == asReady:
		return "takes no traffic, as no EndpointSlice of the Service lists it as ready"
	case !isReady:
		return byStatus
	}
	for _, port := range p.ports {
		if !ports[port] {
			return fmt.Sprintf("takes no traffic at port %q of the Service, as no EndpointSlice that lists it has a port of that name", port)
		}
	}
	if byStatus != asReady {
		return asReady + ", although by its status " + byStatus
	}
	return asReady
}
