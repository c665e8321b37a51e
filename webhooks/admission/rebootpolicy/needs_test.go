// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
	"github.com/fairlead-dev/fairlead/webhooks/admission/admissiontest"
)

var anyApp = &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"app": "x"}}

func target(kind common.WorkloadKind, name string) autorebootv1.Target {
	return autorebootv1.Target{Kind: kind, Name: name}
}

func sources(list ...autorebootv1.ConfigSource) []autorebootv1.Trigger {
	return []autorebootv1.Trigger{{Name: "config", ConfigChange: &autorebootv1.ConfigChange{Sources: list}}}
}

func TestEveryPartOfAPolicyTakesItsRights(t *testing.T) {
	evict := &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
	api := []autorebootv1.Target{target("Deployment", "api")}
	for name, test := range map[string]struct {
		spec autorebootv1.RebootPolicySpec
		want map[string]string // rights, and the fields that take them
	}{
		"workloads by their names": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{target("Deployment", "api"), target("StatefulSet", "db"), target("DaemonSet", "agent")}},
			map[string]string{"patch deployments.apps api": "spec.targets[0]", "patch statefulsets.apps db": "spec.targets[1]", "patch daemonsets.apps agent": "spec.targets[2]"},
		},
		"workloads by their labels": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{{Kind: "StatefulSet", Selector: anyApp}}, Strategy: &autorebootv1.Strategy{Type: autorebootv1.StrategyRolloutRestart}},
			map[string]string{"patch statefulsets.apps": "spec.targets[0]"},
		},
		"workloads of any kind": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{{Selector: &common.LabelSelector{}}}},
			map[string]string{"patch deployments.apps": "spec.targets[0]", "patch statefulsets.apps": "spec.targets[0]", "patch daemonsets.apps": "spec.targets[0]"},
		},
		"Rollouts": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{
				{Group: common.RolloutsGroup, Kind: "Rollout", Name: "web"}, {Group: common.RolloutsGroup, Selector: &common.LabelSelector{}},
			}},
			map[string]string{"patch rollouts.argoproj.io web": "spec.targets[0]", "patch rollouts.argoproj.io": "spec.targets[1]"},
		},
		"a kind of another project": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{
				{Group: "apps.kruise.io", Kind: "CloneSet", Name: "web"}, {Group: "apps.kruise.io", Kind: "StatefulSet", Selector: anyApp},
			}},
			map[string]string{"patch clonesets.apps.kruise.io web": "spec.targets[0]", "patch statefulsets.apps.kruise.io": "spec.targets[1]"},
		},
		"CronJobs and Jobs": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{
				{Group: common.BatchGroup, Kind: "CronJob", Name: "nightly"}, {Group: common.BatchGroup, Kind: "Job", Selector: anyApp},
			}},
			map[string]string{
				"get cronjobs.batch nightly": "spec.targets[0]", "create jobs.batch": "spec.targets[1]", "list jobs.batch": "spec.targets[1]",
				"delete jobs.batch": "spec.targets[1]",
			},
		},
		"Jobs by a ServiceAccount": {
			autorebootv1.RebootPolicySpec{ServiceAccountName: "robot", Targets: []autorebootv1.Target{{Group: common.BatchGroup, Kind: "Job", Name: "report"}}},
			map[string]string{"impersonate serviceaccounts robot": "spec.serviceAccountName", "get jobs.batch report": "spec.targets[0]"},
		},
		"a name beside labels is no limit": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{{Kind: "StatefulSet", Name: "db", Selector: anyApp}}},
			map[string]string{"patch statefulsets.apps": "spec.targets[0]"},
		},
		"neither name nor labels": {
			autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{{Kind: "StatefulSet"}}},
			map[string]string{"patch statefulsets.apps": "spec.targets[0]"},
		},
		"Evict": {
			autorebootv1.RebootPolicySpec{Targets: api, Strategy: evict},
			map[string]string{"create pods/eviction": "spec.strategy.type", "get pods": "spec.strategy.type"},
		},
		"in the name of a ServiceAccount": {
			autorebootv1.RebootPolicySpec{ServiceAccountName: "robot", Targets: append([]autorebootv1.Target{{Kind: "DaemonSet", Selector: anyApp}}, api...)},
			map[string]string{"impersonate serviceaccounts robot": "spec.serviceAccountName", "list daemonsets.apps": "spec.targets[0]", "get deployments.apps api": "spec.targets[1]"},
		},
		"Evict in the name of a ServiceAccount": {
			autorebootv1.RebootPolicySpec{ServiceAccountName: "robot", Targets: api, Strategy: evict},
			map[string]string{"impersonate serviceaccounts robot": "spec.serviceAccountName", "get deployments.apps api": "spec.targets[0]"},
		},
		"sources": {
			autorebootv1.RebootPolicySpec{Triggers: sources(
				autorebootv1.ConfigSource{Kind: "Secret", Name: "creds", Keys: []string{"a"}}, autorebootv1.ConfigSource{Kind: "ConfigMap", Name: "conf"},
				autorebootv1.ConfigSource{Kind: "Secret", Selector: anyApp}, autorebootv1.ConfigSource{Kind: "ConfigMap", Selector: anyApp})},
			map[string]string{
				"get secrets creds": "spec.triggers[0].configChange.sources[0]", "get configmaps conf": "spec.triggers[0].configChange.sources[1]",
				"list secrets": "spec.triggers[0].configChange.sources[2]", "list configmaps": "spec.triggers[0].configChange.sources[3]",
			},
		},
		"what pods have mounted": {
			autorebootv1.RebootPolicySpec{Triggers: sources(autorebootv1.ConfigSource{Kind: "SecretProviderClass", Name: "vault"}, autorebootv1.ConfigSource{Kind: "AddedLater", Name: "x"})},
			map[string]string{
				"list secretproviderclasspodstatuses.secrets-store.csi.x-k8s.io": "spec.triggers[0].configChange.sources[0]",
				"get *.* x": "spec.triggers[0].configChange.sources[1]",
			},
		},
		"sources that the workload refers to": {
			autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{ConfigChange: &autorebootv1.ConfigChange{Discovery: ptr.To(autorebootv1.DiscoveryReferenced)}}}},
			map[string]string{},
		},
		"a certificate": {
			autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{CertificateRenewal: &autorebootv1.CertificateRenewal{SecretName: "tls"}}}},
			map[string]string{"get secrets tls": "spec.triggers[0].certificateRenewal.secretName"},
		},
		"a certificate without a name": {
			autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{CertificateRenewal: &autorebootv1.CertificateRenewal{}}}},
			map[string]string{"list secrets": "spec.triggers[0].certificateRenewal.secretName"},
		},
		"probes": {
			autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{
				{Probe: &autorebootv1.Probe{Check: common.Check{HTTPGet: &common.HTTPGetAction{}, TLS: &common.CheckTLS{}}}},
				{Probe: &autorebootv1.Probe{Check: common.Check{HTTPGet: &common.HTTPGetAction{}, TLS: &common.CheckTLS{CASecretName: "roots"}}}},
			}},
			map[string]string{"get secrets roots": "spec.triggers[1].probe.tls.caSecretName"},
		},
		"probes of the verification": {
			autorebootv1.RebootPolicySpec{Verification: &autorebootv1.Verification{Verification: common.Verification{Probes: []common.VerificationProbe{
				{HTTPGet: &common.HTTPGetAction{}, TLS: &common.CheckTLS{}}, {HTTPGet: &common.HTTPGetAction{}, TLS: &common.CheckTLS{CASecretName: "roots"}},
			}}}},
			map[string]string{"get secrets roots": "spec.verification.probes[1].tls.caSecretName"},
		},
		"an ExternalService": {
			autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{EndpointsChange: &autorebootv1.EndpointsChange{ExternalServiceName: "db"}}}},
			map[string]string{"get externalservices.networking.fairlead.dev db": "spec.triggers[0].endpointsChange.externalServiceName"},
		},
		"times": {
			autorebootv1.RebootPolicySpec{Triggers: []autorebootv1.Trigger{{Schedule: &autorebootv1.ScheduleTrigger{}}, {PodAge: &autorebootv1.PodAge{}}}},
			map[string]string{},
		},
		"gates": {
			autorebootv1.RebootPolicySpec{Gates: []autorebootv1.Gate{
				{NoPods: &autorebootv1.NoPods{Selector: anyApp}}, {Condition: &autorebootv1.ObjectCondition{APIVersion: "apps/v1", Kind: "Deployment", Name: "ledger"}},
				{Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}}, {Condition: &autorebootv1.ObjectCondition{APIVersion: "chaos.fairlead.dev/v1", Kind: "ChaosPod", Name: "drill", Type: "Survived"}},
				{Condition: &autorebootv1.ObjectCondition{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: "web"}},
				{Condition: &autorebootv1.ObjectCondition{APIVersion: "v1", Kind: "Pod", Name: "web-0", Type: "Ready"}},
				{Type: "AddedLater"},
			}},
			map[string]string{
				"list pods": "spec.gates[0]", "get deployments.apps ledger": "spec.gates[1]", "get externalservices.networking.fairlead.dev db": "spec.gates[2]",
				"get chaospods.chaos.fairlead.dev drill": "spec.gates[3]", "get certificates.cert-manager.io web": "spec.gates[4]",
				"get pods web-0": "spec.gates[5]", "* *.*": "spec.gates[6]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, n := range needs(field.NewPath("spec"), &test.spec, "shop") {
				if n.Right.Namespace != "shop" || n.Right.Version != "v1" {
					t.Errorf("asks about %+v", n.Right)
				}
				got[admissiontest.Phrase(n.Right)] = n.Path.String()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A kind that the configuration has lost does not keep a policy from being edited.
func TestAKindOfAnotherProjectMustBeConfigured(t *testing.T) {
	cloneSet := autorebootv1.Target{Group: "apps.kruise.io", Kind: "CloneSet", Name: "web"}
	spec := &autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{
		target("Deployment", "api"), {Group: common.RolloutsGroup, Kind: "Rollout", Name: "web"}, cloneSet, {Group: "apps.kruise.io", Kind: "StatefulSet", Name: "db"},
	}}
	configured := []workloadkinds.Kind{{GroupVersionKind: schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"}, Template: []string{"spec", "template"}}}
	const (
		first  = `spec.targets[2].kind: Invalid value: "CloneSet": the operator's configuration does not have kind CloneSet of group apps.kruise.io in rebootPolicies.workloads: ask an administrator to add it, or name another target`
		second = `spec.targets[3].kind: Invalid value: "StatefulSet": the operator's configuration does not have kind StatefulSet of group apps.kruise.io in rebootPolicies.workloads: ask an administrator to add it, or name another target`
	)
	for name, test := range map[string]struct {
		configured []workloadkinds.Kind
		old        *autorebootv1.RebootPolicySpec
		want       []string
	}{
		"none":           {nil, nil, []string{first, second}},
		"one":            {configured, nil, []string{second}},
		"one that was":   {nil, &autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{cloneSet}}, []string{second}},
		"both that were": {nil, spec, nil},
	} {
		var got []string
		for _, err := range unconfigured(field.NewPath("spec"), test.configured, spec, test.old) {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
