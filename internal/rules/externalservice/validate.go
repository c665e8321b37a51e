// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Validate checks what schema and CEL cannot express, or only at a cost that the API server refuses. It also checks the
// annotations that request something. It accepts what the old object has as well; old may be nil.
func Validate(obj, old *v1.ExternalService) field.ErrorList {
	errs := rules.Ratchet(obj, old, func(obj *v1.ExternalService) field.ErrorList {
		return append(Publishable(obj), requests(obj)...)
	})
	return append(errs, immutable(obj, old)...)
}

// immutable refuses what Kubernetes does not let change in a Service: its first family, which is that of clusterIP.
func immutable(obj, old *v1.ExternalService) field.ErrorList {
	if old == nil || obj.Spec.Service == nil || len(obj.Spec.Service.IPFamilies) == 0 ||
		IsHeadless(obj.Spec.Service) != IsHeadless(old.Spec.Service) {
		return nil // a Service that is headless, or is no more, gets another address
	}
	var first corev1.IPFamily
	if was := old.Spec.Service; was != nil && len(was.IPFamilies) > 0 {
		first = was.IPFamilies[0]
	} else if ip, err := netip.ParseAddr(old.Status.ClusterIP); err == nil {
		if first = corev1.IPv6Protocol; ip.Is4() {
			first = corev1.IPv4Protocol
		}
	}
	if is := obj.Spec.Service.IPFamilies[0]; first != "" && is != first {
		return field.ErrorList{field.Invalid(rules.At("spec", "service", "ipFamilies").Index(0).Field(), is, fmt.Sprintf(
			"the first family of a Service cannot change, and is %s: list %s first, or delete this object and create it again", first, first))}
	}
	return nil
}

// IsHeadless reports whether a Service is to have no address of its own. The template may be nil.
func IsHeadless(of *v1.ServiceTemplate) bool {
	return of != nil && ptr.Deref(of.ClusterIP, "") == v1.ClusterIPNone
}

// service checks the fields of a Service that the schema and CEL do not check.
func service(path rules.Path, s *v1.ServiceTemplate) field.ErrorList {
	errs := serviceLabels(path.Child("labels"), s.Labels)
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		errs = append(errs, because(path.Child("annotations"), key, "", validation.IsQualifiedName(strings.ToLower(key)))...)
		errs = append(errs, reserved(path.Child("annotations").Key(key), key, "annotation")...)
	}
	const maxTimeout = 24 * time.Hour
	if d := s.SessionAffinityTimeout; d != nil {
		if timeout, err := d.Parse(); err == nil && (timeout < time.Second || timeout > maxTimeout || timeout%time.Second != 0) {
			errs = append(errs, field.Invalid(path.Child("sessionAffinityTimeout").Field(), string(*d), "must be whole seconds, from 1s to 24h"))
		}
	}
	return errs
}

// Publishable checks what must hold for an object to be published. Annotations are not included: an invalid request for
// a fault is refused, and does not stop the publication.
func Publishable(obj *v1.ExternalService) field.ErrorList {
	spec, path := &obj.Spec, rules.At("spec")
	errs := append(rules.TooMany(path.Child("ports"), len(spec.Ports)), rules.TooMany(path.Child("endpoints"), len(spec.Endpoints))...)
	errs = append(errs, rules.Some(path.Child("ports"), len(spec.Ports))...)
	errs = append(errs, rules.Some(path.Child("endpoints"), len(spec.Endpoints))...)
	errs = append(errs, because(rules.At("metadata", "name"), obj.Name,
		"the Service gets this name", validation.IsDNS1035Label(obj.Name))...)
	if spec.Service != nil {
		errs = append(errs, rules.Known(path.Child("service", "clusterIP"), spec.Service.ClusterIP, v1.ClusterIPNone)...)
		errs = append(errs, service(path.Child("service"), spec.Service)...)
	}
	if p := spec.NetworkPolicy; p != nil {
		if p.PodSelector == nil {
			errs = append(errs, field.Required(path.Child("networkPolicy", "podSelector").Field(), "{} selects all pods of the namespace"))
		}
		errs = append(errs, rules.Selector(path.Child("networkPolicy", "podSelector"), p.PodSelector)...)
	}
	for i, p := range rules.Within(spec.Ports) {
		at := path.Child("ports").Index(i).Child("appProtocol")
		errs = append(errs, rules.Reasons(at, ptr.Deref(p.AppProtocol, ""), validation.IsQualifiedName)...)
	}
	endpoints := rules.Within(spec.Endpoints)
	for i := range endpoints {
		errs = append(errs, endpoint(path.Child("endpoints").Index(i), &endpoints[i], len(spec.Ports))...)
	}
	if r := spec.Resolution; r != nil {
		errs = append(errs, atLeast(path.Child("resolution", "minTTL"), r.MinTTL, time.Second)...)
		errs = append(errs, atLeast(path.Child("resolution", "maxTTL"), r.MaxTTL, time.Second)...)
	}
	return append(errs, healthCheck(path.Child("healthCheck"), spec)...)
}

// serviceLabels refuses invalid labels, and labels by which controllers choose or skip Services, such as
// service.kubernetes.io/service-proxy-name.
func serviceLabels(path rules.Path, labels map[string]common.LabelValue) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		errs = append(errs, because(path, key, "", validation.IsQualifiedName(key))...)
		errs = append(errs, because(path.Key(key), string(value), "", validation.IsValidLabelValue(string(value)))...)
		errs = append(errs, reserved(path.Key(key), key, "label")...)
	}
	return errs
}

// IsReserved reports whether a label or an annotation is one by which controllers of Kubernetes or Fairlead act on Services.
func IsReserved(key string) bool {
	domain, _, hasDomain := strings.Cut(key, "/")
	if domain == "app.kubernetes.io" {
		return key == common.ManagedByLabel
	}
	return hasDomain && (within(domain, "kubernetes.io") || within(domain, "k8s.io") || within(domain, "fairlead.dev"))
}

func reserved(path rules.Path, key, what string) field.ErrorList {
	if !IsReserved(key) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Field(), "the "+what+" is reserved for controllers; choose another key")}
}

func within(domain, suffix string) bool {
	return domain == suffix || strings.HasSuffix(domain, "."+suffix)
}

// numericLabel matches a last label that resolvers read as part of an IPv4 address, as in "0x7f.1". Such a text is not
// meant as a name.
var numericLabel = regexp.MustCompile(`^(0x[0-9a-f]*|[0-9]+)$`)

func endpoint(path rules.Path, e *v1.Endpoint, ports int) field.ErrorList {
	errs := rules.Known(path.Child("state"), e.State, v1.EndpointActive, v1.EndpointDrained)
	errs = append(errs, rules.Reasons(path.Child("zone"), ptr.Deref(e.Zone, ""), validation.IsValidLabelValue)...)
	if e.DNS == nil {
		if len(e.Addresses) == 0 { // see rules.Some
			errs = append(errs, field.Invalid(path.Field(), "", "set exactly one of dns or addresses"))
		}
		return errs
	}
	errs = append(errs, rules.Known(path.Child("dns", "recordType"), e.DNS.RecordType, v1.RecordAddress, v1.RecordSRV)...)
	at, name := path.Child("dns", "name"), strings.ToLower(strings.TrimSuffix(e.DNS.Name, "."))
	// CEL cannot strip the final dot, so these names would pass its rule.
	if strings.HasSuffix(e.DNS.Name, ".") && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		errs = append(errs, field.Invalid(at.Field(), e.DNS.Name, "in-cluster and localhost names are not allowed"))
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; numericLabel.MatchString(last) {
		errs = append(errs, field.Invalid(at.Field(), e.DNS.Name, "the last label must not be a number: resolvers take such a name for an IP address"))
	}
	if ptr.Deref(e.DNS.RecordType, v1.RecordAddress) != v1.RecordSRV {
		return errs
	}
	if len(e.Ports) > 0 {
		errs = append(errs, field.Forbidden(path.Child("ports").Field(), "SRV records bring their own port; remove ports, or use recordType Address"))
	}
	if ports > 1 {
		errs = append(errs, field.Invalid(path.Child("dns", "recordType").Field(), string(v1.RecordSRV),
			"SRV records bring one port, and the object has several; use one ExternalService per port"))
	}
	return errs
}

func atLeast(path rules.Path, d *common.Duration, least time.Duration) field.ErrorList {
	if d == nil || d.Or(least) >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), string(*d), "must be at least "+string(common.DurationOf(least)))}
}

// because returns the messages of a syntax check as errors, with the reason for the check.
func because(path rules.Path, value, reason string, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		if reason != "" {
			message = reason + ": " + message
		}
		errs = append(errs, field.Invalid(path.Field(), value, message))
	}
	return errs
}
