// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// As docs/guides/install.md tells: a cluster that had both versions comes to one, and goes back.
func TestACRDComesToOneVersionAndGoesBack(t *testing.T) {
	t.Parallel()
	s := newSuite(t, profile{layout: "default"})
	s.Apply("{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: stays}, spec: {"+database+"}}", "--server-side")
	s.shows("True", ready, "externalservice/stays")
	for _, crd := range framework.Definitions {
		s.Kubectl("patch", "crd", crd, "--type=json", "-p", `[
			{"op": "test", "path": "/spec/versions/1/name", "value": "v1alpha1"}, {"op": "remove", "path": "/spec/versions/1"},
			{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}]`)
	}
	s.install(profile{layout: "default", components: []string{"v1-only"}})
	s.Apply("{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: later}, spec: {"+database+"}}", "--server-side")
	s.shows("True", ready, "externalservice/later")
	if _, _, err := s.Try("", "get", "externalservices.v1alpha1.networking.fairlead.dev", "-A"); err == nil {
		t.Error("v1alpha1 is served")
	}
	s.Eventually(func() error {
		body, err := s.replicas[0].Probe(s.Context(), "/readyz")
		if err == nil && strings.Contains(body, "degraded") {
			err = errors.New(body)
		}
		return err
	})
	s.install(s.profile)
	s.shows("192.0.2.20", "{.spec.endpoints[0].addresses[0]}", "externalservices.v1alpha1.networking.fairlead.dev", "later")
	s.permitted()
}

// As docs/guides/install-scope.md says: each has namespaces of its own, and neither converts.
func TestTwoOperatorsShareAClusterAndNoNamespace(t *testing.T) {
	t.Parallel()
	first := newSuite(t, profile{layout: "default", namespaced: true, components: []string{"v1-only"}})
	second := *first
	second.profile.second = true
	first.install(second.profile)
	user, err := first.ServiceAccount("team-system", "team-fairlead-manager")
	first.Must(err)
	replica, err := first.Launch(t.Context(), append(second.arguments("fairlead-manager"), "--kubeconfig="+user.Kubeconfig, "--set=service.namespace=team-system")...)
	first.Must(err)
	_, port, _ := strings.Cut(replica.Webhook, ":")
	for _, kind := range []string{"mutating", "validating"} {
		for _, name := range framework.WebhookConfigurations {
			first.Kubectl("patch", kind+"webhookconfiguration", "team-"+name, "--type=json", "-p",
				`[{"op": "replace", "path": "/webhooks/0/clientConfig/service/port", "value": `+port+`}]`)
		}
	}
	first.Eventually(func() error { return replica.Started(t.Context()) })

	manifest := first.File("manifest.yaml", "{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: database}, spec: {"+database+"}}")
	for _, namespace := range []string{watched, other} {
		first.Eventually(func() error { // until the API server knows the second authority
			_, _, err := first.Try("", "-n", namespace, "apply", "--server-side", "-f", manifest)
			return err
		})
		first.Eventually(func() error {
			_, _, err := first.Try("", "-n", namespace, "get", "service", "database")
			return err
		})
	}
	in := map[string]bool{} // where each has written
	for _, r := range first.requests() {
		if r.Verb == "patch" && strings.HasSuffix(r.place(), "/services") {
			in[r.User.Username+" in "+r.ObjectRef.Namespace] = true
		}
	}
	want := []string{"system:serviceaccount:fairlead-system:fairlead-manager in " + watched, "system:serviceaccount:team-system:team-fairlead-manager in " + other}
	if got := slices.Sorted(maps.Keys(in)); !slices.Equal(got, want) {
		t.Errorf("Services are made by %q, want %q", got, want)
	}
	if pods := first.Kubectl("get", "leases", "-A", "--field-selector=metadata.name=fairlead-manager", "-o", "jsonpath={.items[*].metadata.namespace}"); pods != "fairlead-system team-system" {
		t.Errorf("Leases are in %q", pods)
	}
	first.permitted()
}

// A tenant who deletes its namespace deletes the operator's Role in it. Rights are looked for once a minute, so that this
// test begins before the others: of those that run in parallel, go test begins with the last.
func TestANamespaceWithoutItsRoleHoldsUpNoOtherAndIsWatchedOnceItIsThere(t *testing.T) {
	t.Parallel()
	some := profile{layout: "default", namespaced: true}
	s := newSuite(t, some)
	_, _, works := some.names()
	args := append(s.arguments("fairlead-manager"), "--set=namespaces="+works+","+other)
	s.Retire(s.replicas[0])
	s.serve(args...)
	leader := s.replicas[1]
	s.Eventually(func() error { return leader.Started(s.Context()) })
	s.Eventually(s.reachable)
	s.externalService()
	if events := s.Kubectl("-n", framework.Namespace, "get", "events", "--field-selector=reason=NamespaceForbidden", "-o", "jsonpath={.items[*].note}{.items[*].message}"); !strings.Contains(events, "namespace "+other) {
		t.Errorf("told: %q", events)
	}
	s.Kubectl("-n", other, "apply", "--server-side", "-k", filepath.Join(framework.Root, "config", "namespaced", "rights"))
	s.Eventually(func() error {
		if text, err := leader.Logs(); err != nil || !strings.Contains(text, "has rights in namespace "+other) {
			return errors.Join(err, errors.New("the leader has not ended"))
		}
		return nil
	})
	s.Retire(leader)
	s.serve(args...)
	s.Eventually(func() error { return s.replicas[2].Started(s.Context()) })
	s.Kubectl("-n", other, "create", "-f", s.File("manifest.yaml", "{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: database}, spec: {"+database+"}}"))
	s.Eventually(func() error {
		made, _, err := s.Try("", "-n", other, "get", "service", "database", "-o", "name")
		if err == nil && made == "" {
			err = errors.New("no Service yet")
		}
		return err
	})
}

// install applies another profile over the one that is there.
func (s *suite) install(p profile) {
	s.Helper()
	folder := s.TempDir()
	s.Must(p.overlay(folder))
	s.Must(s.InstallOverlay(s.Context(), folder))
}
