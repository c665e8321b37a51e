// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestTheServiceHasTheFieldsOfTheSpecAndNoOthers(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, zone: west, addresses: [`+address+`]}], service: {annotations: {example.com/owner: billing},
		sessionAffinity: ClientIP, sessionAffinityTimeout: 1h, ipFamilies: [IPv4], trafficDistribution: PreferClose, internalTrafficPolicy: Cluster}}`)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	service := s.service("db")
	spec := &service.Spec
	if service.Annotations["example.com/owner"] != "billing" || spec.SessionAffinity != corev1.ServiceAffinityClientIP ||
		*spec.SessionAffinityConfig.ClientIP.TimeoutSeconds != 3600 || !slices.Equal(spec.IPFamilies, []corev1.IPFamily{corev1.IPv4Protocol}) ||
		*spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack || ptr.Deref(spec.TrafficDistribution, "") != "PreferClose" {
		t.Errorf("the Service is %+v", spec)
	}
	zones := func() (all []string) {
		for _, slice := range s.Slices("db") {
			for _, e := range slice.Endpoints {
				for _, zone := range ptr.Deref(e.Hints, discoveryv1.EndpointHints{}).ForZones {
					all = append(all, zone.Name)
				}
			}
		}
		return all
	}
	if got := zones(); !slices.Equal(got, []string{"west"}) {
		t.Errorf("hints for zones %q", got)
	}

	// What others change of these is taken back, and what the spec does not set is theirs.
	s.Kubectl("patch", "service", "db", "-n", s.Namespace, "--type=merge", "-p",
		`{"metadata": {"annotations": {"example.com/owner": "me", "example.com/theirs": "yes"}}, "spec": {"sessionAffinity": "None", "sessionAffinityConfig": null}}`)
	s.Eventually(func() error {
		if is := s.service("db"); is.Spec.SessionAffinity != corev1.ServiceAffinityClientIP || is.Annotations["example.com/owner"] != "billing" || is.Annotations["example.com/theirs"] != "yes" {
			return fmt.Errorf("the Service is %+v, with %v", is.Spec, is.Annotations)
		}
		return nil
	})

	// A field that goes from the spec gets its default again.
	s.change("db", func(es *networkingv1.ExternalService) {
		es.Spec.Service = &networkingv1.ServiceTemplate{IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack)}
	})
	s.Eventually(func() error {
		is := s.service("db")
		if is.Spec.SessionAffinity != corev1.ServiceAffinityNone || is.Spec.TrafficDistribution != nil || is.Annotations["example.com/owner"] != "" || len(zones()) > 0 {
			return fmt.Errorf("the Service is %+v, with %v and hints %q", is.Spec, is.Annotations, zones())
		}
		return nil
	})
	if was := service.Spec.ClusterIP; s.service("db").Spec.ClusterIP != was {
		t.Errorf("the address was %s", was)
	}

	// What Kubernetes does not let change is refused with what to do.
	_, stderr, err := s.Try(s.manifest("db", strings.Replace(plainly(address), "{ports", "{service: {ipFamilies: [IPv6]}, ports", 1)), "apply", "-n", s.Namespace, "-f", "-")
	if err == nil || !strings.Contains(stderr, "spec.service.ipFamilies[0]") || !strings.Contains(stderr, "delete this object and create it again") {
		t.Errorf("another family: %v: %s", err, stderr)
	}
	for spec, want := range map[string]string{
		"publishNotReadyAddresses: true":                              "publishNotReadyAddresses needs clusterIP None",
		"sessionAffinityTimeout: 1h":                                  "sessionAffinityTimeout needs sessionAffinity ClientIP",
		"sessionAffinity: ClientIP, sessionAffinityTimeout: 2d":       "sessionAffinityTimeout",
		"sessionAffinity: ClientIP, sessionAffinityTimeout: 1500ms":   "must be whole seconds",
		"ipFamilies: [IPv4, IPv6], ipFamilyPolicy: SingleStack":       "two ipFamilies need ipFamilyPolicy",
		"ipFamilies: [IPv4, IPv4]":                                    "families must differ",
		"annotations: {external-dns.alpha.kubernetes.io/hostname: x}": "is reserved for controllers",
	} {
		_, stderr, err := s.Try(s.manifest("other", strings.Replace(plainly(address), "{ports", "{service: {"+spec+"}, ports", 1)), "apply", "-n", s.Namespace, "-f", "-")
		if err == nil || !strings.Contains(stderr, want) {
			t.Errorf("%s: %v: %s", spec, err, stderr)
		}
	}
}

func TestAHeadlessServicePublishesUnhealthyAddressesWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	up, down := s.Servers.Address(), s.Servers.Address()
	s.server(s.Servers.TCP(up + ":7000"))
	s.apply("db", strings.Replace(checked(`tcpSocket: {}, `+often, up, down), "{", "{service: {clusterIP: None, publishNotReadyAddresses: true}, ", 1))
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded)
	s.publishes("db", up, down)
	s.Eventually(func() error {
		serving := map[string]bool{}
		for _, slice := range s.Slices("db") {
			for _, e := range slice.Endpoints {
				serving[e.Addresses[0]] = ptr.Deref(e.Conditions.Serving, true)
			}
		}
		if !serving[up] || serving[down] {
			return fmt.Errorf("serving are %v", serving)
		}
		return nil
	})
	if !s.service("db").Spec.PublishNotReadyAddresses {
		t.Error("the Service does not say so")
	}
}

// seen is the NetworkPolicy and the slices of a Service, as watches show them.
type seen struct {
	mu       sync.Mutex
	versions map[int64]any
}

// TestPodsMayConnectToTheAddressesOfTheObjectAlone moves an object from address to address, and looks at each version of its
// NetworkPolicy and its slices in the order in which the API server has stored them.
func TestPodsMayConnectToTheAddressesOfTheObjectAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	all := []string{s.Servers.Address(), s.Servers.Address(), s.Servers.Address(), s.Servers.Address()}
	order := s.watchEgress("db")
	spec := func(more string, addresses ...string) string {
		return strings.Replace(plainly(addresses...), "{ports", "{networkPolicy: {podSelector: {matchLabels: {app: web}}"+more+"}, ports", 1)
	}
	s.apply("db", spec("", all[0]))
	s.publishes("db", all[0])
	s.allowsOnly("db", all[0])
	for _, to := range [][]string{all[1:2], all[:2], all[2:], all[:1]} {
		s.apply("db", spec("", to...))
		s.publishes("db", to...)
		s.allowsOnly("db", to...)
	}
	order(t)

	s.apply("db", spec(", dryRun: true", all[0]))
	s.Eventually(func() error {
		policy, err := s.networkPolicy("db-egress")
		if err == nil && (len(policy.Spec.PodSelector.MatchExpressions) != 1 || policy.Spec.PodSelector.MatchExpressions[0].Key != networkingv1.NetworkPolicyTrialLabel) {
			err = fmt.Errorf("a dry run selects %v", policy.Spec.PodSelector)
		}
		return err
	})
	s.apply("db", plainly(all[0]))
	s.Kubectl("patch", "externalservice", "db", "-n", s.Namespace, "--type=merge", "-p", `{"spec": {"networkPolicy": null}}`)
	s.Eventually(func() error {
		if _, err := s.networkPolicy("db-egress"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the NetworkPolicy is still there: %v", err)
		}
		return nil
	})
}

func (s *suite) networkPolicy(name string) (*netv1.NetworkPolicy, error) {
	policy := &netv1.NetworkPolicy{}
	return policy, s.Client.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, policy)
}

func allowedIn(policy *netv1.NetworkPolicy) []string {
	var all []string
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			if to.IPBlock != nil {
				all = append(all, strings.TrimSuffix(strings.TrimSuffix(to.IPBlock.CIDR, "/32"), "/128"))
			}
		}
	}
	slices.Sort(all)
	return all
}

func (s *suite) allowsOnly(name string, addresses ...string) {
	s.Helper()
	want := slices.Sorted(slices.Values(addresses))
	s.Eventually(func() error {
		policy, err := s.networkPolicy(name + "-egress")
		if err == nil && !slices.Equal(allowedIn(policy), want) {
			err = fmt.Errorf("it allows %q, want %q", allowedIn(policy), want)
		}
		return err
	})
}

// watchEgress begins to watch, and returns what checks that each address of a slice was allowed at the time.
func (s *suite) watchEgress(name string) func(testing.TB) {
	s.Helper()
	history := &seen{versions: map[int64]any{}}
	follow := func(list client.ObjectList) {
		watcher, err := s.Client.Watch(s.Context(), list, client.InNamespace(s.Namespace))
		s.Must(err)
		s.Cleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				if o, ok := event.Object.(client.Object); ok && event.Type != watch.Bookmark {
					var version int64
					_, _ = fmt.Sscan(o.GetResourceVersion(), &version)
					history.mu.Lock()
					history.versions[version] = event
					history.mu.Unlock()
				}
			}
		}()
	}
	follow(&netv1.NetworkPolicyList{})
	follow(&discoveryv1.EndpointSliceList{})
	return func(t testing.TB) {
		t.Helper()
		history.mu.Lock()
		defer history.mu.Unlock()
		versions := make([]int64, 0, len(history.versions))
		for version := range history.versions {
			versions = append(versions, version)
		}
		slices.Sort(versions)
		held, allowed := map[string]*discoveryv1.EndpointSlice{}, []string(nil)
		for _, version := range versions {
			event := history.versions[version].(watch.Event)
			switch o := event.Object.(type) {
			case *netv1.NetworkPolicy:
				if o.Name == name+"-egress" {
					allowed = allowedIn(o)
				}
			case *discoveryv1.EndpointSlice:
				if held[o.Name] = o; event.Type == watch.Deleted {
					delete(held, o.Name)
				}
			}
			for _, slice := range held {
				for _, e := range slice.Endpoints {
					if !slices.Contains(allowed, e.Addresses[0]) {
						t.Errorf("at version %d: %s is in a slice, and %q are allowed", version, e.Addresses[0], allowed)
					}
				}
			}
		}
		if len(versions) < 10 {
			t.Errorf("saw %d versions", len(versions))
		}
	}
}
