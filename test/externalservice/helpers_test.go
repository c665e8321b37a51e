// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// host is a DNS name that no other test has.
func (s *suite) host(name string) string { return name + "." + s.Namespace + ".example.com" }

// server ends with the test.
func (s *suite) server(server *externalnet.Server, err error) *externalnet.Server {
	s.Helper()
	s.Must(err)
	s.Cleanup(server.Close)
	return server
}

// apply applies an ExternalService at v1 with a spec in YAML.
func (s *suite) apply(name, spec string) {
	s.Helper()
	s.Apply(s.manifest(name, spec))
}

func (s *suite) manifest(name, spec string) string {
	s.Helper()
	var parsed any
	s.Must(yaml.Unmarshal([]byte(spec), &parsed))
	return framework.Text(map[string]any{
		"apiVersion": networkingv1.GroupVersion.String(), "kind": "ExternalService",
		"metadata": map[string]any{"name": name}, "spec": parsed,
	})
}

// get reads an ExternalService.
func (s *suite) get(name string) (*networkingv1.ExternalService, error) {
	var es networkingv1.ExternalService
	err := s.Get(name, &es)
	return &es, err
}

// status is the one that stands now.
func (s *suite) status(name string) networkingv1.ExternalServiceStatus {
	s.Helper()
	es, err := s.get(name)
	s.Must(err)
	return es.Status
}

// condition waits until the latest spec is observed, with a condition as given.
func (s *suite) condition(name, kind string, status metav1.ConditionStatus, reason string) networkingv1.ExternalServiceStatus {
	s.Helper()
	var last networkingv1.ExternalServiceStatus
	s.Eventually(func() error {
		es, err := s.get(name)
		if err != nil {
			return err
		}
		last = es.Status
		got := meta.FindStatusCondition(last.Conditions, kind)
		if got == nil || got.Status != status || got.Reason != reason || got.ObservedGeneration != es.Generation {
			return fmt.Errorf("%s: want %s=%s %s at generation %d, status is %s", name, kind, status, reason, es.Generation, framework.Text(last))
		}
		return nil
	})
	return last
}

// published are the addresses behind a Service that are ready, sorted.
func (s *suite) published(service string) []string {
	s.Helper()
	var addresses []string
	for _, slice := range s.Slices(service) {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	slices.Sort(addresses)
	return addresses
}

// publishes waits until exactly these addresses are ready behind a Service.
func (s *suite) publishes(service string, addresses ...string) {
	s.Helper()
	addresses = slices.Sorted(slices.Values(addresses)) // the caller's order is the caller's
	s.Eventually(func() error {
		if got := s.published(service); !slices.Equal(got, addresses) {
			return fmt.Errorf("%s publishes %q, want %q", service, got, addresses)
		}
		return nil
	})
}
