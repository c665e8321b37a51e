// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"
	"testing"
)

type versioned struct{ convertFunc }

func (versioned) Versions() []string { return []string{"v1", "v1alpha1"} }

func TestRegisterRefusesWhatCannotBeServed(t *testing.T) {
	nothing := convertFunc(func(raw []byte, _ string) ([]byte, error) { return raw, nil })
	served := NewRegistry()
	NewHandler(Options{Registry: served})
	taken := NewRegistry()
	if err := taken.Register("toys.example.com", "Toy", versioned{nothing}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		registry *Registry
		register func(*Registry) error
		says     string
	}{
		"no versions": {NewRegistry(), func(r *Registry) error { return r.Register("g", "Toy", nothing) }, "versions"},
		"one version": {NewRegistry(), func(r *Registry) error { return r.Register("g", "Toy", nothing, "v1", "v1") }, "versions"},
		"nil":         {NewRegistry(), func(r *Registry) error { return r.Register("g", "Toy", nil, "v1", "v2") }, "needed"},
		"twice":       {taken, func(r *Registry) error { return r.Register("toys.example.com", "Toy", versioned{nothing}) }, "already"},
		"served":      {served, func(r *Registry) error { return r.Register("g", "Toy", versioned{nothing}) }, "before NewHandler"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.register(test.registry); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q in it", err, test.says)
			}
		})
	}
}
