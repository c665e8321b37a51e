// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// allKinds are the kinds, in the order of the operator's configuration, with their CRDs.
var allKinds = []struct {
	name  string
	crds  []string
	hooks []string // by the beginnings of their names
}{
	{"ExternalService", []string{"externalservices.networking.fairlead.dev"}, []string{"externalservice"}},
	{"RebootPolicy", []string{"rebootpolicies.autoreboot.fairlead.dev", "clusterrebootpolicies.autoreboot.fairlead.dev"},
		[]string{"rebootpolicy", "clusterrebootpolicy"}},
	{"ChaosPod", []string{"chaospods.chaos.fairlead.dev"}, []string{"chaospod"}},
}

// someKinds comes by upgrades from all kinds to one of the seven combinations, which the date chooses, or in a long run to each
// of them, and back.
func (s *suite) someKinds() {
	s.Helper()
	chosen, long := []int{1 + time.Now().UTC().YearDay()%7}, os.Getenv("FAIRLEAD_TEST_LONG") != ""
	if long {
		chosen = []int{1, 2, 3, 4, 5, 6, 7}
	}
	for _, bits := range chosen {
		kinds, leftOut := []any{}, []string{}
		for i, kind := range allKinds {
			if bits&(1<<i) != 0 {
				kinds = append(kinds, kind.name)
			} else {
				leftOut = append(leftOut, strings.ToLower(kind.name))
			}
		}
		values := map[string]any{"kinds": kinds, "canaries": bits%2 == 0, "admissionPolicies": map[string]any{"enabled": true}}
		for _, kind := range allKinds {
			if slices.Contains(kinds, any(kind.name)) {
				continue
			}
			if err := s.tryUpgrade("fairlead-system", current, upgradeFlags{}, values); err == nil || !strings.Contains(err.Error(), "kubectl delete crd ") {
				s.Errorf("%v: %s is left out while its CRD is there: %v", kinds, kind.name, err)
			}
			s.kubectl(append([]string{"delete", "crd", "--timeout=2m"}, kind.crds...)...)
		}
		s.upgrade("fairlead-system", current, upgradeFlags{}, values)
		if output, want := s.sound(), "; the operator is in namespace fairlead-system, for "+strings.Trim(fmt.Sprint(kinds), "[]"); !strings.Contains(strings.ReplaceAll(output, ",", ""), strings.ReplaceAll(want, ",", "")) {
			s.Errorf("lacks %q:\n%s", want, output)
		}
		objects := s.kubectl("get", "crd,mutatingwebhookconfiguration,validatingwebhookconfiguration,clusterrole,clusterrolebinding,role,rolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding",
			"-A", "--selector=app.kubernetes.io/name=fairlead", "-o", "name")
		for _, kind := range leftOut {
			if strings.Contains(objects, kind) {
				s.Errorf("%v: an object of %s is there:\n%s", kinds, kind, objects)
			}
		}
		if !long {
			continue
		}
		s.helmTest("fairlead-system", authority)
		s.upgrade("fairlead-system", current, upgradeFlags{}, nil)
		if output := s.sound(); !strings.Contains(output, "ok: ChaosPod at v1alpha1: created by a dry run") || !strings.Contains(output, ", for ExternalService, RebootPolicy, ChaosPod\n") {
			s.Errorf("all kinds again:\n%s", output)
		}
	}
}
