// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
)

// held is a cache that has synced, or not.
type held struct {
	cache.Cache
	client.Reader
	synced bool
}

type informer struct {
	cache.Informer
	synced bool
}

func (i informer) HasSynced() bool { return i.synced }

func (h held) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return h.Reader.Get(ctx, key, o, opts...)
}

func (h held) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return h.Reader.List(ctx, into, opts...)
}

func (h held) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{synced: h.synced}, nil
}

func newScheme(t *testing.T) *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(chaosv1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestAWriterOfAChaosPodIsWarnedOfABudgetThatAllowsNoEviction(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"of": "the workload"}}
	}
	web := func(namespace string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: meta(namespace, "web"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
		d.Spec.Template.Labels = map[string]string{"app": "web"}
		return d
	}
	never := &policyv1.PodDisruptionBudget{ObjectMeta: meta("shop", "never"), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	reader := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(web("shop"), web("bank")).Build()
	const (
		why   = " of Deployment web: PodDisruptionBudget never never allows it (maxUnavailable: 0)"
		kills = "spec.action.type: Evict kills no pod" + why
		dry   = "spec.action.type: Evict finds, as a dry run, that it could kill no pod" + why
	)
	for name, test := range map[string]struct{ namespace, spec, want string }{
		"by name":                        {"shop", "{dryRun: false, target: {workload: {kind: Deployment, name: web}}}", kills},
		"by the labels of pods":          {"shop", "{dryRun: false, target: {selector: {matchLabels: {app: web}}}}", kills},
		"a dry run asks as well":         {"shop", "{target: {workload: {kind: Deployment, name: web}}}", dry},
		"no deletion asks":               {"shop", "{dryRun: false, action: {type: Delete}, target: {workload: {kind: Deployment, name: web}}}", ""},
		"by the labels of the workload":  {"shop", "{dryRun: false, target: {selector: {matchLabels: {of: the workload}}}}", ""},
		"another name":                   {"shop", "{dryRun: false, target: {workload: {kind: Deployment, name: api}}}", ""},
		"another kind":                   {"shop", "{dryRun: false, target: {workload: {kind: StatefulSet, name: web}}}", ""},
		"another namespace":              {"bank", "{dryRun: false, target: {workload: {kind: Deployment, name: web}}}", ""},
		"a canary":                       {"shop", "{dryRun: false, target: {template: {metadata: {labels: {app: web}}}}}", ""},
		"no target, which is not valid":  {"shop", "{dryRun: false}", ""},
		"a selector that is none":        {"shop", "{dryRun: false, target: {selector: {matchExpressions: [{key: app, operator: Like}]}}}", ""},
		"a namespace without a workload": {"empty", "{dryRun: false, target: {selector: {matchLabels: {app: web}}}}", ""},
	} {
		obj := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "c"}}
		if err := yaml.UnmarshalStrict([]byte(test.spec), &obj.Spec); err != nil {
			t.Fatal(err)
		}
		rules.Default(obj)
		caches := warnings.NewReader(warnings.Options{Client: kubernetesfake.NewClientset(never)})
		w := &webhook{options: Options{Warnings: caches}}
		if got := w.budgets(t.Context(), obj); got != nil {
			t.Errorf("%s, before the cache: %q", name, got)
		}
		caches.SetCaches(reader, held{Reader: reader})
		if got := w.budgets(t.Context(), obj); got != nil {
			t.Errorf("%s, before the cache has synced: %q", name, got)
		}
		caches.SetCaches(reader, held{Reader: reader, synced: true})
		var want []string
		if test.want != "" {
			want = []string{test.want}
		}
		if diff := cmp.Diff(want, w.budgets(t.Context(), obj)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOverlapsSayNothingUntilTheCacheHasSyncedAndNeverWait(t *testing.T) {
	pod := func(name string) *chaosv1.ChaosPod {
		p := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		p.Spec.Target.Workload = &common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "cart"}
		return p
	}
	scheme := newScheme(t)
	reader := warnings.NewReader(warnings.Options{})
	w := &webhook{options: Options{Warnings: reader}}
	if warnings := w.overlaps(t.Context(), pod("a")); warnings != nil {
		t.Errorf("before the cache: %q", warnings)
	}
	reader.SetCaches(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod("b")).Build(), nil)
	if warnings := w.overlaps(t.Context(), pod("a")); len(warnings) != 1 || !strings.Contains(warnings[0], "ChaosPod b") {
		t.Errorf("with the cache: %q", warnings)
	}
	reader.SetCaches(broken{}, nil)
	if warnings := w.overlaps(t.Context(), pod("a")); warnings != nil {
		t.Errorf("with a cache that does not hold the namespace: %q", warnings)
	}
	reader.SetCaches(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod("b")).Build(), nil)
	reader.DropCaches()
	if warnings := w.overlaps(t.Context(), pod("a")); warnings != nil {
		t.Errorf("after the cache: %q", warnings)
	}
}

type broken struct{ client.Reader }

func (broken) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("unable to get: shop because of unknown namespace for the cache")
}
