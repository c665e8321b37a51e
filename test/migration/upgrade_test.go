// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// migrating is slow enough for a leader to be killed on its way. There is one API server, and nothing is
// written at the old version before it stores at the new one: little must settle.
var migrating = []string{"--set=storageMigration.rate=40", "--set=storageMigration.settle=1s"}

// An upgrade from CRDs that store v1alpha1 to the shipped ones, and back: the shipped operator
// rewrites what is stored, users and all.
func TestAnUpgradeChangesTheStoredVersionAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newUpgradeSuite(t)
	for i := range 3 {
		w.Kubectl("create", "deployment", fmt.Sprintf("web-%d", i+1), "-n", namespace, "--image=nginx", "--replicas=0")
	}
	w.yesterday()
	w.makesBusy()
	before := w.atRest()
	w.allStoredAt("v1alpha1", none)
	w.Eventually(func() error {
		for name, generation := range w.generations() {
			if generation != 1 {
				return fmt.Errorf("deployment %s has generation %d", name, generation)
			}
		}
		return nil
	})
	deployments := w.generations()

	w.retires()
	w.Must(w.Reinstall(w.Context()))
	w.floor()
	w.starts(migrating...)
	w.starts(migrating...)
	w.Must(w.Reachable(w.Context()))
	users := w.loads()
	w.migrated("upgrade", "v1", func() {
		w.midway()
		next := w.kills(w.Leader())
		t.Logf("the leader was killed, and %s goes on", next.ID)
		w.starts(migrating...)
		w.namesStuck()
		w.allStoredAt("v1", stuck)
		w.deletesStuck()
	})
	users.ends()
	before = before.without(stuck)
	w.same("after the upgrade", before, w.atRest())

	// And back: the CRDs of the former release first, then its operator.
	w.stores("v1alpha1")
	w.retires()
	w.starts(migrating...)
	w.starts(migrating...)
	w.Must(w.Reachable(w.Context()))
	users = w.loads()
	w.migrated("roll-back", "v1alpha1", nil)
	users.ends()
	w.same("after the roll-back", before, w.atRest())
	if after := w.generations(); !maps.Equal(deployments, after) {
		t.Errorf("deployments were changed: %v, then %v", deployments, after)
	}
}

// floor applies the policies that hold while no webhook answers.
func (s *upgradeSuite) floor() {
	s.Helper()
	s.Apply(s.Kubectl("kustomize", s.Kustomization("components: [CONFIG/admission-policy]\n")), "--server-side")
}

// midway waits until the leader is in the midst of the first kind.
func (s *upgradeSuite) midway() {
	s.Helper()
	k := kinds[0]
	s.Eventually(func() error {
		if at := s.stored(k, nameOf(k.count-50)).GetAPIVersion(); at != k.group+"/v1" {
			return fmt.Errorf("%s %s is stored at %s", k.name, nameOf(k.count-50), at)
		}
		return nil
	})
}

// migrated waits until every CRD names one stored version, while something happens, and tells
// what it took.
func (s *upgradeSuite) migrated(what, version string, meanwhile func()) {
	s.Helper()
	type cost struct{ patches, conversions int }
	before := map[string]cost{}
	for _, k := range kinds {
		patches, conversions := s.calls(k)
		before[k.name] = cost{patches, conversions}
	}
	began := time.Now()
	if meanwhile != nil {
		meanwhile()
	}
	s.only(version)
	s.Logf("%s: %s until all is stored at %s, with a second of settling for each leader", what, time.Since(began).Round(100*time.Millisecond), version)
	for _, k := range kinds {
		list, err := s.of(k, "v1").List(s.Context(), metav1.ListOptions{})
		s.Must(err)
		patches, conversions := s.calls(k)
		s.Logf("%s: %d objects of kind %s; the API server took %d patches and %d conversions, those of users included",
			what, len(list.Items), k.name, patches-before[k.name].patches, conversions-before[k.name].conversions)
	}
	for _, note := range s.told("StorageMigrated") {
		s.Logf("%s: event: %s", what, note)
	}
	s.allStoredAt(version, none)
}

func none(kind) []string { return nil }

func stuck(k kind) []string { return k.stuck }

// namesStuck waits until the leader names what of each kind cannot be rewritten. It does so after a
// whole pass: the rest is done.
func (s *upgradeSuite) namesStuck() {
	s.Helper()
	s.Eventually(func() error {
		notes := s.told("StorageMigrationFailed")
		for _, k := range kinds {
			if !slices.ContainsFunc(notes, k.namesStuck) {
				return fmt.Errorf("no event names %v of kind %s: %q", k.stuck, k.name, notes)
			}
		}
		return nil
	})
}

// namesStuck says that a note names just what is stuck of the kind.
func (k kind) namesStuck(note string) bool {
	names := len(k.stuck) > 0
	for _, name := range k.stuck {
		names = names && strings.Contains(note, namespace+"/"+name)
	}
	return names && strings.HasPrefix(note, fmt.Sprintf("%d of the objects cannot be rewritten", len(k.stuck))) &&
		strings.Contains(note, ": "+k.name+" ")
}

// deletesStuck does what the guide says.
func (s *upgradeSuite) deletesStuck() {
	s.Helper()
	for _, k := range kinds {
		for _, name := range k.stuck {
			s.Must(s.of(k, "v1").Delete(s.Context(), name, metav1.DeleteOptions{}))
		}
	}
}
