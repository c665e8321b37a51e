// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-dev/fairlead/controllers/storagemigration"
)

func (s *suite) definition() string { return s.plural + ".toys.example.com" }

// define applies the CRD with versions such as "v1 served storage", and waits until the API
// server stores at that version.
func (s *suite) define(versions ...string) {
	s.Helper()
	var all []string
	for _, version := range versions {
		name, rest, _ := strings.Cut(version, " ")
		all = append(all, fmt.Sprintf(`{"name": %q, "served": %v, "storage": %v, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}`,
			name, strings.Contains(rest, "served"), strings.Contains(rest, "storage")))
	}
	s.Apply(fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": %q},
		"spec": {"group": "toys.example.com", "scope": "Namespaced", "names": {"plural": %q, "kind": %q}, "versions": [%s]}}`,
		s.definition(), s.plural, "Kind"+s.plural, strings.Join(all, ",")), "--server-side", "--force-conflicts")
	s.Kubectl("wait", "--for=condition=Established", "--timeout=1m", "crd", s.definition())
	// The handler learns of a CRD on its own. What a write is stored at shows when it has.
	for _, version := range versions {
		if at, rest, _ := strings.Cut(version, " "); strings.Contains(rest, "storage") {
			n := 0
			s.Eventually(func() error {
				n++
				name := fmt.Sprintf("settled-%d-%d", time.Now().UnixNano(), n)
				if _, _, err := s.Try(s.object(at, name, "none"), "create", "-f", "-"); err != nil {
					return err
				}
				defer s.Kubectl("delete", "--wait=false", s.plural+"."+at+".toys.example.com", name)
				if stored := s.storedAt(name); stored != at {
					return fmt.Errorf("stored at %s, want %s", stored, at)
				}
				return nil
			})
		}
	}
}

func (s *suite) object(version, name, owner string) string {
	return fmt.Sprintf(`{"apiVersion": "toys.example.com/%s", "kind": %q, "metadata": {"name": %q, "namespace": "default"}, "spec": {%q: %q}}`,
		version, "Kind"+s.plural, name, owner, "was here")
}

// owns has a manager apply an object with a field of its own.
func (s *suite) owns(version, name, manager string) {
	s.Helper()
	s.Apply(s.object(version, name, manager), "--server-side", "--field-manager="+manager)
}

// storedAt is the version that stands in etcd.
func (s *suite) storedAt(name string) string {
	s.Helper()
	raw, err := s.Stored(s.Context(), "/registry/toys.example.com/"+s.plural+"/default/"+name)
	s.Must(err)
	var object struct {
		APIVersion string `json:"apiVersion"`
	}
	s.Must(json.Unmarshal(raw, &object))
	return strings.TrimPrefix(object.APIVersion, "toys.example.com/")
}

func (s *suite) crd() *apiextensionsv1.CustomResourceDefinition {
	s.Helper()
	crd, err := s.crds.Get(s.Context(), s.definition(), metav1.GetOptions{})
	s.Must(err)
	return crd
}

// storedVersions waits until the CRD names exactly these.
func (s *suite) storedVersions(want ...string) {
	s.Helper()
	s.Eventually(func() error {
		if got := s.crd().Status.StoredVersions; strings.Join(got, " ") != strings.Join(want, " ") {
			return fmt.Errorf("status.storedVersions is %v, want %v; the CRD says %q", got, want, s.crd().Annotations[storagemigration.Annotation])
		}
		return nil
	})
}

// complete waits until the migration says that it is.
func (s *suite) complete(m *storagemigration.Migrator) {
	s.Helper()
	s.Eventually(func() error {
		if status := m.Status(); status != s.definition()+": complete" {
			return fmt.Errorf("the migration says %q", status)
		}
		return nil
	})
}

// migrator is one for the test's CRD. It is quick, but for what a test sets.
func (s *suite) migrator(edit func(*storagemigration.Options)) (*storagemigration.Migrator, *prometheus.Registry) {
	s.Helper()
	objects, err := metadata.NewForConfig(s.Config)
	s.Must(err)
	registry := prometheus.NewRegistry()
	o := storagemigration.Options{
		Definitions: s.crds, Objects: objects, Names: []string{s.definition()},
		Rate: 1000, Interval: 200 * time.Millisecond, Settle: time.Second, Registerer: registry,
	}
	if edit != nil {
		edit(&o)
	}
	m, err := storagemigration.New(o)
	s.Must(err)
	return m, registry
}

// runs runs a migrator until the test ends, or the answer is called.
func (s *suite) runs(m *storagemigration.Migrator) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	var once bool
	stop = func() {
		if once {
			return
		}
		once = true
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("Run: %v", err)
		}
	}
	s.Cleanup(stop)
	return stop
}

// count is how many objects had a result.
func (s *suite) count(registry *prometheus.Registry, result string) int {
	s.Helper()
	families, err := registry.Gather()
	s.Must(err)
	total := 0.0
	for _, family := range families {
		if family.GetName() != "fairlead_storage_migration_objects_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "result" && label.GetValue() == result {
					total += metric.GetCounter().GetValue()
				}
			}
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		s.Errorf("the metrics are not as they should be: %v, %v", problems, err)
	}
	return int(total)
}
