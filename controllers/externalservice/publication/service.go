// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// RevertedFields returns the fields that others have changed since the Service was applied as it is wanted now.
func RevertedFields(current *corev1.Service, es *networkingv1.ExternalService) []string {
	if !WasAppliedAs(current, es) {
		return nil // the spec has changed
	}
	wanted := Service(es, Ports(es))
	var fields []string
	if current.Spec.Type != *wanted.Spec.Type {
		fields = append(fields, "type")
	}
	if len(current.Spec.Selector) > 0 {
		fields = append(fields, "selector")
	}
	if !PortsMatch(current, wanted) {
		fields = append(fields, "ports")
	}
	return append(fields, driftedFields(current, es)...)
}

// WasAppliedAs reports whether what was applied of a Service last is what is wanted now: others have made the difference.
func WasAppliedAs(current *corev1.Service, es *networkingv1.ExternalService) bool {
	return current.Annotations[rules.AppliedAnnotation] == Service(es, Ports(es)).Annotations[rules.AppliedAnnotation]
}

// WasApplied reports whether the operator created a Service, whatever others have changed since.
func WasApplied(service *corev1.Service) bool {
	return service.Annotations[rules.AppliedAnnotation] != "" ||
		slices.ContainsFunc(service.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
			return m.Manager == common.FieldOwner && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == ""
		})
}

// Service returns the Service without the mark of its owner, with ports. It has no selector, since its EndpointSlices are
// ours, and both address families where the cluster has them, unless the spec chooses.
func Service(es *networkingv1.ExternalService, ports []corev1.ServicePort) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithIPFamilyPolicy(rules.IPFamilyPolicy(es.Spec.Service))
	setFields(spec, es.Spec.Service)
	if rules.IsHeadless(es.Spec.Service) {
		spec.WithClusterIP(corev1.ClusterIPNone)
	}
	for i := range ports {
		p := &ports[i]
		port := corev1ac.ServicePort().WithName(p.Name).WithPort(p.Port).WithProtocol(p.Protocol).WithTargetPort(p.TargetPort)
		port.AppProtocol = p.AppProtocol
		spec.WithPorts(port)
	}
	service := corev1ac.Service(es.Name, es.Namespace).WithLabels(serviceLabels(es)).WithSpec(spec)
	for key, value := range es.Spec.Service.Annotations {
		service.WithAnnotations(map[string]string{key: string(value)})
	}
	return service.WithAnnotations(map[string]string{rules.AppliedAnnotation: digest(service)})
}

// setFields sets the fields that the spec has: server-side apply owns no others.
func setFields(spec *corev1ac.ServiceSpecApplyConfiguration, of *networkingv1.ServiceTemplate) {
	spec.SessionAffinity, spec.InternalTrafficPolicy = of.SessionAffinity, of.InternalTrafficPolicy
	spec.TrafficDistribution, spec.IPFamilies = of.TrafficDistribution, of.IPFamilies
	spec.PublishNotReadyAddresses = of.PublishNotReadyAddresses
	if d := of.SessionAffinityTimeout; d != nil {
		spec.WithSessionAffinityConfig(corev1ac.SessionAffinityConfig().WithClientIP(
			corev1ac.ClientIPConfig().WithTimeoutSeconds(int32(d.Or(0) / time.Second))))
	}
}

// Applied returns what a Service is that was applied, or would be if there were none.
func Applied(service *corev1ac.ServiceApplyConfiguration) (*corev1.Service, error) {
	data, err := json.Marshal(service)
	if err != nil {
		return nil, err
	}
	applied := &corev1.Service{}
	return applied, json.Unmarshal(data, applied)
}

// digest identifies what is applied. Where it differs from the one on the Service, a field that was wanted before
// may not be any more, such as a label, and only applying removes it.
func digest(service *corev1ac.ServiceApplyConfiguration) string {
	hash := fnv.New64a()
	encoder := json.NewEncoder(hash)
	if err := encoder.Encode(service); err != nil { // plain data: it cannot fail
		return ""
	}
	return fmt.Sprintf("%016x", hash.Sum64())
}

func serviceLabels(es *networkingv1.ExternalService) map[string]string {
	labels := map[string]string{}
	for key, value := range es.Spec.Service.Labels {
		labels[key] = string(value)
	}
	labels[common.ManagedByLabel] = common.ManagedBy
	return labels
}

// IsHeadless reports whether a Service has no address of its own.
func IsHeadless(service *corev1.Service) bool { return service.Spec.ClusterIP == corev1.ClusterIPNone }

// ClusterIP returns what the spec of a Service says that is headless, or is not.
func ClusterIP(isHeadless bool) *networkingv1.ServiceClusterIP {
	if !isHeadless {
		return nil
	}
	return ptr.To(networkingv1.ClusterIPNone)
}

// ServiceMatches reports whether applying would change nothing. Labels and annotations of others may stay.
func ServiceMatches(current *corev1.Service, es *networkingv1.ExternalService, ports []corev1.ServicePort) bool {
	wanted := Service(es, ports)
	return !metav1.IsControlledBy(current, es) && current.Annotations[rules.OwnerAnnotation] == string(es.UID) &&
		containsAll(current.Labels, wanted.Labels) && containsAll(current.Annotations, wanted.Annotations) &&
		current.Spec.Type == *wanted.Spec.Type && len(current.Spec.Selector) == 0 && PortsMatch(current, wanted) &&
		len(driftedFields(current, es)) == 0
}

// PortsMatch reports whether the ports of a Service are those that are wanted.
func PortsMatch(current *corev1.Service, wanted *corev1ac.ServiceApplyConfiguration) bool {
	if len(current.Spec.Ports) != len(wanted.Spec.Ports) {
		return false
	}
	for i, p := range wanted.Spec.Ports {
		c := current.Spec.Ports[i]
		if c.Name != *p.Name || c.Port != *p.Port || c.Protocol != *p.Protocol || c.TargetPort != *p.TargetPort ||
			ptr.Deref(c.AppProtocol, "") != ptr.Deref(p.AppProtocol, "") {
			return false
		}
	}
	return true
}

// ForeignFields returns the fields of our Service that others have set and the ExternalService has not. They stay,
// and are reported: externalIPs intercept traffic (CVE-2020-8554), and the others change where it goes.
func ForeignFields(service *corev1.Service, es *networkingv1.ExternalService) []string {
	var all []string
	if len(service.Spec.ExternalIPs) > 0 {
		all = append(all, "externalIPs")
	}
	for _, f := range serviceFields {
		plain := f.plain
		if f.name == "ipFamilyPolicy" {
			plain = string(rules.IPFamilyPolicy(es.Spec.Service))
		}
		if is := f.is(&service.Spec); f.wanted(es.Spec.Service) == "" && is != "" && is != plain {
			all = append(all, f.name)
		}
	}
	slices.Sort(all)
	return all
}

// driftedFields returns the fields that the spec sets and that a Service has otherwise.
func driftedFields(service *corev1.Service, es *networkingv1.ExternalService) []string {
	var all []string
	for _, f := range serviceFields {
		if wanted := f.wanted(es.Spec.Service); wanted != "" && f.is(&service.Spec) != wanted {
			all = append(all, f.name)
		}
	}
	return all
}

// serviceFields are the fields of a Service that a spec may set, as texts: what a Service has, what a spec wants, where it
// sets the field, and what Kubernetes sets by itself. ipFamilies are not here: others may change the second one alone, and
// ipFamilyPolicy decides about that.
var serviceFields = []struct {
	name   string
	is     func(*corev1.ServiceSpec) string
	wanted func(*networkingv1.ServiceTemplate) string
	plain  string
}{
	{
		"sessionAffinity", func(s *corev1.ServiceSpec) string { return string(s.SessionAffinity) },
		func(t *networkingv1.ServiceTemplate) string { return string(ptr.Deref(t.SessionAffinity, "")) }, string(corev1.ServiceAffinityNone),
	},
	{
		"sessionAffinityTimeout", func(s *corev1.ServiceSpec) string {
			if c := s.SessionAffinityConfig; c != nil && c.ClientIP != nil {
				return strconv.Itoa(int(ptr.Deref(c.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)))
			}
			return ""
		},
		func(t *networkingv1.ServiceTemplate) string {
			if t.SessionAffinityTimeout == nil {
				return ""
			}
			return strconv.Itoa(int(t.SessionAffinityTimeout.Or(0) / time.Second))
		}, strconv.Itoa(int(corev1.DefaultClientIPServiceAffinitySeconds)),
	},
	{
		"internalTrafficPolicy", func(s *corev1.ServiceSpec) string { return string(ptr.Deref(s.InternalTrafficPolicy, "")) },
		func(t *networkingv1.ServiceTemplate) string { return string(ptr.Deref(t.InternalTrafficPolicy, "")) },
		string(corev1.ServiceInternalTrafficPolicyCluster),
	},
	{
		"publishNotReadyAddresses", func(s *corev1.ServiceSpec) string { return strconv.FormatBool(s.PublishNotReadyAddresses) },
		func(t *networkingv1.ServiceTemplate) string {
			if t.PublishNotReadyAddresses == nil {
				return ""
			}
			return strconv.FormatBool(*t.PublishNotReadyAddresses)
		}, "false",
	},
	{
		"trafficDistribution", func(s *corev1.ServiceSpec) string { return ptr.Deref(s.TrafficDistribution, "") },
		func(t *networkingv1.ServiceTemplate) string { return ptr.Deref(t.TrafficDistribution, "") }, "",
	},
	{
		"ipFamilyPolicy", func(s *corev1.ServiceSpec) string { return string(ptr.Deref(s.IPFamilyPolicy, "")) },
		func(t *networkingv1.ServiceTemplate) string { return string(ptr.Deref(t.IPFamilyPolicy, "")) }, "",
	},
}

// containsAll reports whether have has every wanted entry.
func containsAll(have, wanted map[string]string) bool {
	for key, value := range wanted {
		if got, ok := have[key]; !ok || got != value {
			return false
		}
	}
	return true
}
