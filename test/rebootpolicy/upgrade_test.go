// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// upgrades is how many workloads are upgraded in each of three rounds: 100 in all.
var upgrades = [3]int{34, 33, 33}

// An upgrade by Helm or kubectl apply writes a ConfigMap, and then the Deployment that takes it: all pods
// are new, and have what was written. Whatever happens to the operator meanwhile, that is one rollout.
func TestAnUpgradeRollsOnceWhateverHappensToTheOperatorMeanwhile(t *testing.T) {
	s := newSuite(t)
	names := make([]string, upgrades[0])
	for i := range names {
		names[i] = fmt.Sprintf("app-%02d", i)
		s.configMap(names[i], "color", "0", "size", "0")
		s.workload(deployment, names[i], takesConfigMap(names[i]))
	}
	for _, name := range names {
		s.available(deployment, name)
	}
	s.policy("p", `{targets: [{kind: Deployment, selector: {matchExpressions: [{key: none, operator: DoesNotExist}]}}], `+onConfig+`,
		debounce: {quietPeriod: 8s, maxDelay: 5m}, historyLimit: 50}`)
	s.watching("p", len(names))
	rolled := map[string]int64{}
	for round, during := range []struct {
		what string
		do   func(upgrade func())
	}{
		{"an orderly handover", func(upgrade func()) {
			upgrade()
			s.Retire(s.Leader())
			s.Must(s.Fill(s.Context()))
			s.Leader()
		}},
		{"a crash", func(upgrade func()) {
			upgrade()
			s.KillLeader()
		}},
		{"a cold start", func(upgrade func()) { s.Renew(upgrade) }},
	} {
		those := names[:upgrades[round]]
		before := s.fingerprints("p")
		during.do(func() {
			var writes sync.WaitGroup
			for i := range 4 {
				writes.Go(func() {
					for n := i; n < len(those); n += 4 {
						s.upgrade(those[n], fmt.Sprint(round+1))
					}
				})
			}
			writes.Wait()
		})
		s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
			if len(st.InFlight) > 0 {
				return fmt.Errorf("%d restarts are in flight", len(st.InFlight))
			}
			for _, target := range st.Targets {
				if target.Pending != nil {
					return fmt.Errorf("a restart of %s waits", target.Name)
				}
			}
			return nil
		})
		after := map[string]string{}
		s.Eventually(func() error {
			maps.Copy(after, s.fingerprints("p"))
			for _, name := range those {
				if after[name] == before[name] {
					return fmt.Errorf("%s: the change is not seen yet", name)
				}
			}
			return nil
		})
		twice := 0
		for _, name := range those {
			rolled[name]++
			if s.read(deployment, name).GetGeneration() != 1+rolled[name] {
				twice++
				s.generation(deployment, name, 1+rolled[name])
			}
		}
		s.Logf("%s: %d upgrades, and %d of them rolled more than once", during.what, len(those), twice)
	}
}

// takesConfigMap is the spec of pods that take the whole of a ConfigMap as their environment.
func takesConfigMap(name string) string {
	return fmt.Sprintf("{containers: [{name: main, image: none, envFrom: [{configMapRef: {name: %s}}]}]}", name)
}

// upgrade writes what a chart holds, in the order of Helm. A pod of the new template has the new content.
func (s *suite) upgrade(name, version string) {
	s.Helper()
	s.configMap(name, "color", version, "size", version)
	s.reform(deployment, name, fmt.Sprintf("{metadata: {annotations: {version: %q}}}", version))
}

// fingerprints are the baselines of a policy's targets.
func (s *suite) fingerprints(name string) map[string]string {
	s.Helper()
	policy, err := s.get(name)
	s.Must(err)
	all := map[string]string{}
	for _, target := range policy.Status.Targets {
		for _, b := range target.Baselines {
			if b.Trigger == "config" {
				all[target.Name] = b.Fingerprint
			}
		}
	}
	return all
}
