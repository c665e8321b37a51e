// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

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
	return rules.Ratchet(obj, old, func(obj *v1.ExternalService) field.ErrorList {
		return append(Publishable(obj), requests(obj)...)
	})
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
		errs = append(errs, rules.Known(path.Child("service", "type"), spec.Service.Type, v1.ServiceClusterIP, v1.ServiceHeadless)...)
		errs = append(errs, serviceLabels(path.Child("service", "labels"), spec.Service.Labels)...)
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
		domain, _, _ := strings.Cut(key, "/")
		reserved := within(domain, "kubernetes.io") || within(domain, "k8s.io") || within(domain, "fairlead.dev")
		if domain == "app.kubernetes.io" {
			reserved = key == common.ManagedByLabel
		}
		if reserved && strings.Contains(key, "/") {
			errs = append(errs, field.Forbidden(path.Key(key).Field(), "the label is reserved for controllers; choose another key"))
		}
	}
	return errs
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
	at, name := path.Child("dns", "name"), strings.TrimSuffix(e.DNS.Name, ".")
	// CEL cannot strip the final dot, so these names would pass its rule.
	if name != e.DNS.Name && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
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
