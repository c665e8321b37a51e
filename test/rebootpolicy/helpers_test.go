// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience is how long a condition may take. The machine may be a busy one.
const patience = 2 * time.Minute

// in is the same suite in a subtest.
func (s *suite) in(t *testing.T) *suite {
	sub := *s
	sub.T = t
	return &sub
}

// must ends the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until ask returns nil.
func (s *suite) eventually(ask func() error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }))
}

// never watches for a short while that ask goes on answering nil. It follows a sign that whatever
// ask denies would have begun by now.
func (s *suite) never(ask func() error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		s.must(ask())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// try applies a manifest, and returns what kubectl wrote and complained of.
func (s *suite) try(manifest string) (stdout, stderr string, err error) {
	return s.shared.KubectlIn(s.Context(), s.namespace, manifest, "apply", "-f", "-")
}

// apply applies a manifest.
func (s *suite) apply(manifest string) {
	s.Helper()
	if _, complaint, err := s.try(manifest); err != nil {
		s.Fatalf("apply: %v\n%s\nof\n%s", err, complaint, manifest)
	}
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

// make creates an object of the namespace from YAML, as the administrator.
func (s *suite) make(manifest string) *unstructured.Unstructured {
	s.Helper()
	object := s.object(manifest)
	s.must(s.client.Create(s.Context(), object))
	return object
}

func (s *suite) object(manifest string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	s.must(yaml.Unmarshal([]byte(manifest), &object.Object))
	if !strings.HasPrefix(object.GetKind(), "Cluster") {
		object.SetNamespace(s.namespace)
	}
	return object
}

// merge edits an object by a merge patch in YAML.
func (s *suite) merge(apiVersion, kind, name, patch string) {
	s.Helper()
	raw, err := yaml.YAMLToJSON([]byte(patch))
	s.must(err)
	object := s.object(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %q}}", apiVersion, kind, name))
	s.must(s.client.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, raw)))
}

// delete deletes an object.
func (s *suite) delete(apiVersion, kind, name string) {
	s.Helper()
	s.must(s.client.Delete(s.Context(), s.object(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %q}}", apiVersion, kind, name))))
}

// secret creates a Secret, or gives the one that is there this data and no other.
func (s *suite) secret(name string, data ...string) {
	s.Helper()
	s.source("Secret", name, "stringData", data)
}

// configMap is secret for ConfigMaps.
func (s *suite) configMap(name string, data ...string) {
	s.Helper()
	s.source("ConfigMap", name, "data", data)
}

// source takes keys and values in turn.
func (s *suite) source(kind, name, member string, data []string) {
	s.Helper()
	content := map[string]any{}
	for i := 0; i+1 < len(data); i += 2 {
		content[data[i]] = data[i+1]
	}
	object := s.object(fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %q}}", kind, name))
	object.Object[member] = content
	err := s.client.Create(s.Context(), object)
	if err == nil {
		return
	}
	s.must(client.IgnoreAlreadyExists(err))
	s.must(s.client.Update(s.Context(), object))
}

// text writes a value as JSON, with sorted keys.
func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
