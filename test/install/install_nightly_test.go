// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package install

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The other order: the operator goes first, and what it left is removed by hand. Another namespace and prefix, and
// the split layout, are checked on the way.
func TestWhatIsLeftOfAnOperatorThatWasRemovedFirstIsRemovedByHand(t *testing.T) {
	s := newSuite(t)
	s.kubectl("create", "namespace", "shop")
	before := s.everything()
	guide := s.guide()

	s.install("team-system", current, map[string]any{"fullnameOverride": "team-fairlead", "layout": "split"})
	output := s.sound()
	for _, want := range []string{
		"ok: Deployment team-system/team-fairlead-manager:", "ok: Deployment team-system/team-fairlead-webhook:",
		"ok: MutatingWebhookConfiguration team-fairlead-chaospod: has the webhook for chaospods.chaos.fairlead.dev\n",
		"ok: ServiceAccount team-system/team-fairlead-webhook: it has all ", "; the operator is in namespace team-system, for ExternalService, RebootPolicy, ChaosPod\n",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("lacks %q:\n%s", want, output)
		}
	}
	s.seesDefects()
	s.uninstall("team-system")
	kept := []string{
		"customresourcedefinitions.apiextensions.k8s.io chaospods.chaos.fairlead.dev",
		"customresourcedefinitions.apiextensions.k8s.io clusterrebootpolicies.autoreboot.fairlead.dev",
		"customresourcedefinitions.apiextensions.k8s.io externalservices.networking.fairlead.dev",
		"customresourcedefinitions.apiextensions.k8s.io rebootpolicies.autoreboot.fairlead.dev",
		"leases.coordination.k8s.io team-system/fairlead-manager",
		"namespaces. team-system",
		"secrets. team-system/fairlead-fingerprint-key", "secrets. team-system/fairlead-webhook-ca",
	}
	s.eventually(func() error {
		if left := s.left(before); !slices.Equal(left, kept) {
			return fmt.Errorf("helm uninstall leaves\n%s", strings.Join(left, "\n"))
		}
		return nil
	})
	s.kubectl("delete", "namespace", "team-system")

	// With the CRDs of the release before. Its namespace is deleted then, and nothing else: the webhook configurations stay.
	s.install("fairlead-system", current, map[string]any{"admissionPolicies": map[string]any{"enabled": true}, "namespaces": []any{"shop"}})
	s.apply(objects)
	s.hasObjects()
	s.kubectl("delete", "namespace", "fairlead-system")
	s.eventually(func() error { // as a node does not let go of a pod that runs
		if n := s.kubelet.alive.Load(); n > 0 {
			return fmt.Errorf("%d processes run", n)
		}
		return nil
	})
	if _, code := s.check("--namespace=shop"); code != 1 {
		t.Errorf("without an operator the check ends with %d", code)
	}
	s.run(guide["keep"])
	s.run(guide["stuck"])
	s.eventually(func() error { return s.onlyLeft(before, orphaned) })
}

// What each profile grants is enough for the check to pass, from outside and as the chart's test.
func TestEachProfileIsComeToByAnUpgradeAndPassesTheCheck(t *testing.T) {
	s := newSuite(t)
	s.kubectl("create", "namespace", "shop")
	s.install("fairlead-system", current, nil)
	for n, profile := range []struct {
		values map[string]any
		want   []string
	}{
		{map[string]any{"namespaces": []any{"shop"}}, []string{"ok: ServiceAccount fairlead-system/fairlead-manager: it has all "}},
		{map[string]any{"namespaces": []any{"shop"}, "clusterRole": false}, []string{"ok: ServiceAccount fairlead-system/fairlead-manager: it has all "}},
		{map[string]any{"secrets": "wide", "admissionPolicies": map[string]any{"enabled": true}}, []string{"ok: RebootPolicy at v1alpha1: created by a dry run"}},
		{map[string]any{"v1Only": true}, []string{"ok: CustomResourceDefinition chaospods.chaos.fairlead.dev: serves v1, stores v1\n", "; the operator is in namespace fairlead-system, for ExternalService, RebootPolicy, ChaosPod\n"}},
		{nil, []string{"ok: ChaosPod at v1alpha1: created by a dry run"}},
	} {
		if profile.values["v1Only"] == true {
			text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "install-scope.md"))
			s.must(err)
			s.run([]string{strings.TrimPrefix(regexp.MustCompile(`(?ms)^\$ for crd in .*?^  done$`).FindString(string(text)), "$ ")})
		}
		s.upgrade("fairlead-system", current, upgradeFlags{forceConflicts: profile.values == nil}, profile.values) // back from v1 alone, as the guide says
		if profile.values["clusterRole"] == false {
			s.publish()
		}
		output := s.sound()
		for _, want := range profile.want {
			if !strings.Contains(output, want) {
				t.Errorf("%v: lacks %q:\n%s", profile.values, want, output)
			}
		}
		address := fmt.Sprintf("192.0.2.%d", n+1)
		s.apply("{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: billing-db, namespace: shop}, spec: {ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [" + address + "]}]}}")
		s.published(address)
		if profile.values["clusterRole"] != false { // which the chart has no test without
			s.helmTest("fairlead-system", authority)
		}
	}
	s.someKinds()
}
