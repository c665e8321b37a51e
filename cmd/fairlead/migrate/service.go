// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	esrules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

var serviceKind = schema.GroupKind{Kind: "Service"}

const noField = "an ExternalService has no such field"

// What differs wherever a Service is replaced, and what to do.
var (
	serviceDifferences = []string{
		"Without healthCheck every address counts as healthy, as it did until now. With one, what fails takes no traffic.",
		"The egress policy of the operator, and the rights of the user who applies the object, decide on addresses that belong to the cluster.",
	}
	serviceSteps = []string{
		"`fairlead vet` and `kubectl apply --dry-run=server` check the objects; the second one asks this cluster.",
		"Fairlead never takes over a Service that it did not create. For a move without a gap, run this with --name-suffix, apply, wait until each " +
			"object is Ready, give clients the new name, and delete the old Service.",
		"To keep the name, delete the Service and what belongs to it, and apply the object directly after that: new connections may fail for some seconds.",
	}
)

// toolKeys are labels and annotations that are set by what applies manifests, to find its objects again.
var toolKeys = regexp.MustCompile(`^(app\.kubernetes\.io/(managed-by|instance)|(meta\.)?helm\.sh/.*|argocd\.argoproj\.io/.*|(kustomize|helm)\.toolkit\.fluxcd\.io/.*|` +
	`endpointslice\.kubernetes\.io/.*|kubernetes\.io/service-name|service\.kubernetes\.io/headless|([^/]*\.)?fairlead\.dev/.*)$`)

// external begins an ExternalService that takes the name and the namespace of an object.
func (r *run) external(s *subject) *networkingv1.ExternalService {
	return &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name + r.options.NameSuffix}}
}

// labels returns those that a user gave. What the tools set that apply manifests, they set again.
func (s *subject) labels() map[string]common.LabelValue {
	found := map[string]common.LabelValue{}
	members, keys := s.root().in("metadata", "labels").members()
	for i, m := range members {
		if toolKeys.MatchString(keys[i]) {
			m.use()
		} else {
			found[keys[i]] = common.LabelValue(m.text())
		}
	}
	return found
}

// annotations returns those that a user gave, without what the rules refuse.
func (s *subject) annotations() map[string]networkingv1.AnnotationValue {
	found := map[string]networkingv1.AnnotationValue{}
	members, keys := s.root().in("metadata", "annotations").members()
	for i, m := range members {
		switch key := keys[i]; {
		case key == corev1.LastAppliedConfigAnnotation, strings.HasPrefix(key, "endpoints.kubernetes.io/"), toolKeys.MatchString(key):
			m.use()
		case esrules.IsReserved(key):
			m.say(Lost, "is reserved for controllers: an ExternalService gives its Service no such annotation")
		default:
			found[key] = networkingv1.AnnotationValue(m.text())
		}
	}
	return found
}

var portName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$`)

// nameOfPort returns a name that an ExternalService can have for a port.
func nameOfPort(at cursor, name string, number int32) string {
	if portName.MatchString(name) {
		return name
	}
	short := fmt.Sprintf("port-%d", number)
	if name != "" {
		at.say(Differs, "%q is called %s: the name of a port has at most 15 lower-case letters, digits and hyphens", name, short)
	}
	return short
}

// setProtocol sets the protocol, unless it is the default.
func setProtocol(p *networkingv1.ServicePort, protocol string) {
	if protocol != "" && protocol != string(corev1.ProtocolTCP) {
		value := corev1.Protocol(protocol)
		p.Protocol = &value
	}
}

// servicePorts returns the ports of a Service, and the names that it has for them.
func (s *subject) servicePorts() (ports []networkingv1.ServicePort, names []string) {
	for _, c := range s.root().in("spec", "ports").items() {
		p := networkingv1.ServicePort{Port: c.in("port").number(), AppProtocol: optional(c.in("appProtocol").text())}
		name := c.in("name").text()
		p.Name = nameOfPort(c.in("name"), name, p.Port)
		setProtocol(&p, c.in("protocol").text())
		if target := c.in("targetPort"); target.exists() {
			if _, isText := target.n.Value.(string); isText {
				target.say(Differs, "is a name of a container's port, and addresses have numbers: that of the port is used")
			} else if number := target.number(); number != p.Port {
				p.TargetPort = &number
			}
		}
		c.in("nodePort").use() // is of the type, which is named
		ports, names = append(ports, p), append(names, name)
	}
	return ports, names
}

// serviceFields carries over what a Service has beside ports and addresses.
func (s *subject) serviceFields(e *networkingv1.ExternalService) {
	spec, of := s.root().in("spec"), networkingv1.ServiceTemplate{}
	if labels := s.labels(); len(labels) > 0 {
		of.Labels = labels
	}
	if annotations := s.annotations(); len(annotations) > 0 {
		of.Annotations = annotations
	}
	isHeadless := spec.in("clusterIP").text() == corev1.ClusterIPNone
	if isHeadless {
		of.ClusterIP = ptr.To(networkingv1.ClusterIPNone)
	}
	spec.in("clusterIPs").use()
	for _, family := range spec.in("ipFamilies").items() {
		of.IPFamilies = append(of.IPFamilies, corev1.IPFamily(family.text()))
	}
	of.IPFamilyPolicy = optional(corev1.IPFamilyPolicy(spec.in("ipFamilyPolicy").text()))
	of.TrafficDistribution = optional(spec.in("trafficDistribution").text())
	if !spec.in("sessionAffinity").is(string(corev1.ServiceAffinityNone)) {
		of.SessionAffinity = optional(corev1.ServiceAffinity(spec.in("sessionAffinity").text()))
		if seconds := spec.in("sessionAffinityConfig", "clientIP", "timeoutSeconds"); seconds.exists() {
			of.SessionAffinityTimeout = ptr.To(common.DurationOf(time.Duration(seconds.number()) * time.Second))
		}
	}
	if local := spec.in("internalTrafficPolicy"); !local.is(string(corev1.ServiceInternalTrafficPolicyCluster)) {
		local.say(Lost, "has no effect on an alias, and would lead no client to an address outside of the cluster")
	}
	if unready := spec.in("publishNotReadyAddresses"); isHeadless && unready.is("true") && unready.exists() {
		of.PublishNotReadyAddresses = ptr.To(true)
	} else if !unready.is("false") {
		unready.say(Lost, "has no effect on an alias, and needs clusterIP None")
	}
	if !equality.Semantic.DeepEqual(of, networkingv1.ServiceTemplate{}) {
		e.Spec.Service = &of
	}
	for _, name := range []string{"NodePort", "LoadBalancer"} {
		if spec.in("type").n != nil && spec.in("type").n.Value == name {
			spec.in("type").say(Lost, "an ExternalService is reached from within the cluster alone")
		}
	}
	spec.in("type").use()
	spec.in("externalTrafficPolicy").is("Cluster")
	spec.in("allocateLoadBalancerNodePorts").is("true")
	spec.rest(noField)
}

// canonical returns an address in its canonical form; false where it is none.
func canonical(text string) (networkingv1.IPAddress, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return "", false
	}
	return networkingv1.IPAddress(address.Unmap().String()), true
}

// place puts an address or a name into an endpoint.
func place(e *networkingv1.Endpoint, at cursor, text string) {
	if address, ok := canonical(text); ok {
		e.Addresses = append(e.Addresses, address)
		return
	}
	name := strings.ToLower(text)
	if strings.HasPrefix(name, "unix://") || strings.HasPrefix(name, "/") {
		at.say(Refused, "is a socket of the proxy's node, which no Service can reach")
		return
	}
	e.DNS = &networkingv1.DNSName{Name: name}
}
