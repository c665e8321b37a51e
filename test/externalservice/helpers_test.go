// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience is how long a condition may take. The machine may be a busy one.
const patience = 2 * time.Minute

// address is one outside that no other test has, of 198.18.0.0/15.
func (s *suite) address() string {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.address++
	return fmt.Sprintf("198.18.%d.%d", s.shared.address/250, s.shared.address%250+1)
}

// address6 is one outside that no other test has, of 2001:db8::/32.
func (s *suite) address6() string {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.address++
	return fmt.Sprintf("2001:db8::1:%x", s.shared.address)
}

// host is a DNS name that no other test has.
func (s *suite) host(name string) string { return name + "." + s.namespace + ".example.com" }

// server ends with the test.
func (s *suite) server(server *externalnet.Server, err error) *externalnet.Server {
	s.Helper()
	s.must(err)
	s.Cleanup(server.Close)
	return server
}

// try applies a manifest, and returns what kubectl wrote and complained of.
func (s *suite) try(manifest string) (stdout, stderr string, err error) {
	return s.shared.KubectlIn(s.Context(), s.namespace, manifest, "apply", "-f", "-")
}

// apply applies an ExternalService at v1 with a spec in YAML.
func (s *suite) apply(name, spec string) {
	s.Helper()
	manifest := s.manifest(name, spec)
	if _, complaint, err := s.try(manifest); err != nil {
		s.Fatalf("apply: %v\n%s\nof\n%s", err, complaint, manifest)
	}
}

func (s *suite) manifest(name, spec string) string {
	s.Helper()
	var parsed any
	s.must(yaml.Unmarshal([]byte(spec), &parsed))
	return text(map[string]any{
		"apiVersion": networkingv1.GroupVersion.String(), "kind": "ExternalService",
		"metadata": map[string]any{"name": name}, "spec": parsed,
	})
}

// kubectl runs it in the namespace; a failure ends the test.
func (s *suite) kubectl(args ...string) string {
	s.Helper()
	out, problems, err := s.shared.KubectlIn(s.Context(), s.namespace, "", args...)
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, problems)
	}
	return out
}

// get reads an ExternalService.
func (s *suite) get(name string) (*networkingv1.ExternalService, error) {
	var es networkingv1.ExternalService
	err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &es)
	return &es, err
}

// status is the one that stands now.
func (s *suite) status(name string) networkingv1.ExternalServiceStatus {
	s.Helper()
	es, err := s.get(name)
	s.must(err)
	return es.Status
}

// condition waits until the latest spec is observed, with a condition as given.
func (s *suite) condition(name, kind string, status metav1.ConditionStatus, reason string) networkingv1.ExternalServiceStatus {
	s.Helper()
	var last networkingv1.ExternalServiceStatus
	s.eventually(func() error {
		es, err := s.get(name)
		if err != nil {
			return err
		}
		last = es.Status
		got := meta.FindStatusCondition(last.Conditions, kind)
		if got == nil || got.Status != status || got.Reason != reason || got.ObservedGeneration != es.Generation {
			return fmt.Errorf("%s: want %s=%s %s at generation %d, status is %s", name, kind, status, reason, es.Generation, text(last))
		}
		return nil
	})
	return last
}

// slices are the EndpointSlices of a Service, by name.
func (s *suite) slices(service string) []discoveryv1.EndpointSlice {
	s.Helper()
	var list discoveryv1.EndpointSliceList
	s.must(s.client.List(s.Context(), &list, client.InNamespace(s.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}))
	slices.SortFunc(list.Items, func(a, b discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// published are the addresses behind a Service that are ready, sorted.
func (s *suite) published(service string) []string {
	s.Helper()
	var addresses []string
	for _, slice := range s.slices(service) {
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
	s.eventually(func() error {
		if got := s.published(service); !slices.Equal(got, addresses) {
			return fmt.Errorf("%s publishes %q, want %q", service, got, addresses)
		}
		return nil
	})
}

// eventually waits until ask returns nil.
func (s *suite) eventually(ask func() error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }))
}

// must ends the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// text writes a value as JSON, with sorted keys.
func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
