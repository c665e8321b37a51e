// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// in is the same suite in a subtest.
func (s *suite) in(t *testing.T) *suite { return &suite{s.In(t)} }

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
	object := s.Object(fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %q}}", kind, name))
	object.Object[member] = content
	err := s.Client.Create(s.Context(), object)
	if err == nil {
		return
	}
	s.Must(client.IgnoreAlreadyExists(err))
	s.Must(s.Client.Update(s.Context(), object))
}
