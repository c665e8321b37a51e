// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func clusterPolicy(t *testing.T, spec string) *autorebootv1.ClusterRebootPolicy {
	t.Helper()
	obj := &autorebootv1.ClusterRebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: "on-change"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &obj.Spec); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestTheTemplateOfAClusterRebootPolicyKeepsTheRulesOfAPolicy(t *testing.T) {
	for spec, want := range map[string]string{
		`{namespaceSelector: {}, template: {spec: {targets: [{selector: {}, optIn: Annotation}], triggers: [{name: config, type: ConfigChange}]}}}`:     "",
		`{namespaceSelector: {matchExpressions: [{key: a, operator: In}]}, template: {spec: {targets: [{selector: {}}]}}}`:                              "spec.namespaceSelector",
		`{namespaceSelector: {}, template: {spec: {targets: [{selector: {}}], triggers: [{name: a, type: Schedule, schedule: {cron: "99 * * * *"}}]}}}`: "spec.template.spec.triggers[0].schedule.cron",
	} {
		obj := clusterPolicy(t, spec)
		errs := ValidateCluster(obj, nil)
		if (want == "") != (len(errs) == 0) || want != "" && !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%s: %v, want %q", spec, errs, want)
		}
		if again := ValidateCluster(obj, obj.DeepCopy()); len(again) > 0 {
			t.Errorf("%s: an update that changes nothing is refused: %v", spec, again)
		}
	}
	all := clusterPolicy(t, `{namespaceSelector: {}, template: {spec: {targets: [{selector: {}}], triggers: [{name: config, type: ConfigChange}]}}}`)
	if texts := ClusterWarnings(all, nil); !slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, "spec.template.spec.targets[0].selector: ") }) {
		t.Errorf("the warnings are %q", texts)
	}
	if texts := ClusterWarnings(all, all.DeepCopy()); len(texts) > 0 {
		t.Errorf("again it warns of %q", texts)
	}
}

func TestAPolicyOfAUserGoesBeforeOneThatWasMade(t *testing.T) {
	made := func(name string) *autorebootv1.RebootPolicy {
		return &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "autoreboot.fairlead.dev/v1alpha1", Kind: "ClusterRebootPolicy", Name: name, Controller: ptr.To(true),
		}}}}
	}
	own := func(name string) *autorebootv1.RebootPolicy {
		return &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	deleted := own("a")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, test := range map[string]struct {
		policy, other *autorebootv1.RebootPolicy
		want          bool
	}{
		"to a user's":           {made("b"), own("z"), true},
		"to an earlier one":     {made("b"), made("a"), true},
		"to a later one":        {made("b"), made("c"), false},
		"to itself":             {made("b"), made("b"), false},
		"to one that goes":      {made("b"), deleted, false},
		"a user's to another's": {own("b"), own("a"), false},
		"a user's to a made":    {own("b"), made("a"), false},
	} {
		if got := YieldsTo(test.policy, test.other); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAPolicyTakesWhatItsTargetsNameOrSelect(t *testing.T) {
	labeled := &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"app": "web"}}
	asks := map[string]string{common.RestartOnChangeAnnotation: "true"}
	for name, test := range map[string]struct {
		target autorebootv1.Target
		of     Workload
		want   bool
	}{
		"by name":                   {autorebootv1.Target{Kind: "Deployment", Name: "web"}, Workload{Kind: "Deployment", Name: "web"}, true},
		"by another name":           {autorebootv1.Target{Kind: "Deployment", Name: "web"}, Workload{Kind: "Deployment", Name: "api"}, false},
		"of another kind":           {autorebootv1.Target{Kind: "Deployment", Name: "web"}, Workload{Kind: "StatefulSet", Name: "web"}, false},
		"by labels, of any kind":    {autorebootv1.Target{Selector: labeled}, Workload{Kind: "DaemonSet", Labels: map[string]string{"app": "web"}}, true},
		"by other labels":           {autorebootv1.Target{Selector: labeled}, Workload{Kind: "DaemonSet"}, false},
		"all that ask: it does":     {autorebootv1.Target{Selector: &common.LabelSelector{}, OptIn: ptr.To(autorebootv1.OptInAnnotation)}, Workload{Kind: "Deployment", Annotations: asks}, true},
		"all that ask: it does not": {autorebootv1.Target{Selector: &common.LabelSelector{}, OptIn: ptr.To(autorebootv1.OptInAnnotation)}, Workload{Kind: "Deployment"}, false},
		"all: it is ignored":        {autorebootv1.Target{Selector: &common.LabelSelector{}}, Workload{Kind: "Deployment", Annotations: map[string]string{common.IgnoreAnnotation: "true"}}, false},
		"all: of another group":     {autorebootv1.Target{Selector: &common.LabelSelector{}}, Workload{Kind: "Rollout"}, false},
		"all of that group":         {autorebootv1.Target{Group: common.RolloutsGroup, Selector: &common.LabelSelector{}}, Workload{Kind: "Rollout"}, true},
	} {
		if got := Takes(&autorebootv1.RebootPolicySpec{Targets: []autorebootv1.Target{test.target}}, &test.of); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
