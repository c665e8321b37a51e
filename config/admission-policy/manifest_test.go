// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const folder = "."

var update = flag.Bool("update", false, "regenerate config/admission-policy")

// every returns all policies, each with its kind.
func every(t testing.TB) (kinds []Kind, policies [][]Policy) {
	t.Helper()
	kinds, err := Kinds()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		of, err := Policies(kind)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, of)
	}
	return kinds, policies
}

func TestTheShippedPoliciesAreCurrent(t *testing.T) {
	_, policies := every(t)
	var wanted []string
	for _, policy := range slices.Concat(policies...) {
		want, err := Manifest(policy)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, policy.FileName())
		wanted = append(wanted, path)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): run this test with -update", path, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(folder, "*_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(wanted)
	if !slices.Equal(found, wanted) {
		t.Errorf("the folder holds %v, want %v", found, wanted)
	}
}

func TestEveryPolicyCompiles(t *testing.T) {
	kinds, policies := every(t)
	for i, kind := range kinds {
		for _, policy := range policies[i] {
			if _, err := NewEvaluator(kind, policy.Policy); err != nil {
				t.Error(err)
			}
		}
	}
}

// For each validation of a policy, kube-controller-manager type-checks all variables once more, in a time
// that is cubic in the length of an expression. One of 6,000 bytes and 200 validations were 20 minutes of
// a processor after each change of the policy.
func TestVariablesAreShortEnoughToBeTypeChecked(t *testing.T) {
	const most = 1000
	_, policies := every(t)
	for _, policy := range slices.Concat(policies...) {
		for _, variable := range policy.Policy.Spec.Variables {
			if length := len(variable.Expression); length > most {
				t.Errorf("%s: variable %s is %d bytes long, at most %d are wanted", policy.Policy.Name, variable.Name, length, most)
			}
		}
	}
}
