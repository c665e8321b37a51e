// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var versions = []string{"v1", "v1alpha1"}

// specs are plain objects of each kind and version.
var specs = map[string]map[string]string{
	"ExternalService": {
		"v1":       `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`,
		"v1alpha1": `{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [192.0.2.1]}]}`,
	},
	"RebootPolicy": {
		"v1":       `{targets: [{kind: Deployment, name: web}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}]}`,
		"v1alpha1": `{targets: [{kind: Deployment, name: web}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`,
	},
	"ChaosPod": {
		"v1":       `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`,
		"v1alpha1": `{template: {spec: {containers: [{name: c, image: nginx}]}}}`,
	},
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}}}`

func TestANewObjectIsInProgressUntilItWasReconciled(t *testing.T) {
	s := newSuite(t)
	s.pause()
	s.Apply(deployment)
	var manifests []*unstructured.Unstructured
	for kind, byVersion := range specs {
		for version, spec := range byVersion {
			m := s.manifest(kind, version, "new-"+version, spec)
			s.Apply(marshal(t, m))
			manifests = append(manifests, m)
		}
	}
	for _, m := range manifests {
		for _, version := range versions {
			s.is(m, version, s.get(m, version), status.InProgressStatus)
			s.is(m, version, s.watched(m, version), status.InProgressStatus)
		}
	}
	s.reconcile()
	for _, m := range manifests {
		s.becomes(m, status.CurrentStatus)
		for _, version := range versions {
			s.is(m, version, s.watched(m, version), status.CurrentStatus)
		}
		s.Kubectl("wait", "--for=condition=Ready", "--timeout=1m", at(m, "v1"))
		s.Kubectl("wait", "--for=condition=Ready", "--timeout=1m", at(m, "v1alpha1"))
	}
}

func TestAConflictWithAServiceFailsAtOnce(t *testing.T) {
	s := newSuite(t)
	s.pause() // admission refuses the name where the Service is there first
	m := s.manifest("ExternalService", "v1", "taken", specs["ExternalService"]["v1"])
	s.Apply(marshal(t, m))
	s.KubectlWith(`{apiVersion: v1, kind: Service, metadata: {name: taken}, spec: {ports: [{port: 80}]}}`, "create", "-f", "-")
	s.reconcile()
	s.becomes(m, status.FailedStatus)
	s.Kubectl("delete", "service", "taken")
	s.becomes(m, status.CurrentStatus)
}

func TestASuspendedExternalServiceIsCurrentWhileItsSpecIsPublished(t *testing.T) {
	s := newSuite(t)
	s.reconcile()
	spec := func(suspend bool, address string) string {
		return fmt.Sprintf(`{suspend: %t, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [%s]}]}`, suspend, address)
	}
	apply := func(name string, suspend bool, address string) *unstructured.Unstructured {
		m := s.manifest("ExternalService", "v1", name, spec(suspend, address))
		s.Apply(marshal(t, m))
		return m
	}
	newborn := apply("newborn", true, "192.0.2.1")
	s.Kubectl("wait", "--for=condition=Suspended", "--timeout=1m", at(newborn, "v1"))
	s.becomes(newborn, status.InProgressStatus)
	m := apply("db", false, "192.0.2.1")
	s.becomes(m, status.CurrentStatus)
	apply("db", true, "192.0.2.1")
	s.Kubectl("wait", "--for=condition=Suspended", "--timeout=1m", at(m, "v1"))
	s.becomes(m, status.CurrentStatus)
	apply("db", true, "192.0.2.2")
	s.Kubectl("wait", "--for=condition=Ready=Unknown", "--timeout=1m", at(m, "v1"))
	s.becomes(m, status.InProgressStatus)
	apply("db", false, "192.0.2.2")
	s.Kubectl("wait", "--for=condition=Ready", "--timeout=1m", at(m, "v1"))
	s.becomes(m, status.CurrentStatus)
}

// at names an object at a version the way kubectl takes it.
func at(m *unstructured.Unstructured, version string) string {
	r := resources[m.GetKind()]
	return r.Resource + "." + version + "." + r.Group + "/" + m.GetName()
}

// watched returns an object as a new watch sends it.
func (s *suite) watched(m *unstructured.Unstructured, version string) *unstructured.Unstructured {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	watcher, err := s.at(m.GetKind(), version).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + m.GetName()})
	s.Must(err)
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Added {
			return object
		}
	}
	s.Fatalf("%s: a watch at %s told nothing", title(m), version)
	return nil
}

// is wants kstatus to say so of an object as it was read, and Argo CD too.
func (s *suite) is(m *unstructured.Unstructured, version string, live *unstructured.Unstructured, want status.Status) {
	s.Helper()
	if err := says(live, want); err != nil {
		s.Errorf("%s read at %s: %v", title(m), version, err)
	}
}

// becomes waits until kstatus says so at both versions.
func (s *suite) becomes(m *unstructured.Unstructured, want status.Status) {
	s.Helper()
	for _, version := range versions {
		s.Eventually(func() error {
			live, err := s.at(m.GetKind(), version).Get(s.Context(), m.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := says(live, want); err != nil {
				return fmt.Errorf("%s read at %s: %w", title(m), version, err)
			}
			return nil
		})
	}
}

// reconciled waits until the latest spec was looked at.
func (s *suite) reconciled(m *unstructured.Unstructured) {
	s.Helper()
	s.Eventually(func() error {
		live, err := s.at(m.GetKind(), "v1").Get(s.Context(), m.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration"); observed != live.GetGeneration() {
			return fmt.Errorf("%s: generation %d, observed %d", title(m), live.GetGeneration(), observed)
		}
		return nil
	})
}

func says(live *unstructured.Unstructured, want status.Status) error {
	result, err := status.Compute(live)
	if err != nil {
		return err
	}
	if result.Status != want {
		return fmt.Errorf("kstatus says %s (%s), want %s; status is %v", result.Status, result.Message, want, live.Object["status"])
	}
	return healthAgrees(live, want)
}
