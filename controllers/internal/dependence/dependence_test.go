// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dependence

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

func named(namespace, name, dependsOn string) metav1.ObjectMeta {
	o := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if dependsOn != "" {
		o.Annotations = map[string]string{common.DependsOnAnnotation: dependsOn}
	}
	return o
}

func policy(name, externalService string, targets ...string) *autorebootv1.RebootPolicy {
	p := &autorebootv1.RebootPolicy{ObjectMeta: named("shop", name, "")}
	if externalService != "" {
		p.Spec.Gates = []autorebootv1.Gate{{Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: externalService, Type: "Healthy"}}}
	}
	for _, target := range targets {
		p.Status.Targets = append(p.Status.Targets, autorebootv1.TargetStatus{Kind: common.WorkloadDeployment, Name: target})
	}
	return p
}

func restarting(p *autorebootv1.RebootPolicy, deployment string) *autorebootv1.RebootPolicy {
	p.Status.InFlight = []autorebootv1.InFlightRestart{{Kind: common.WorkloadDeployment, Name: deployment}}
	return p
}

func reader(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argorollouts.AddToScheme, appsv1.AddToScheme, autorebootv1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
}

func TestPoliciesAndAnnotationsDeclareDependants(t *testing.T) {
	const db = "externalservice/db"
	const mistaken = "Deployment typo: annotation fairlead.dev/depends-on: \"db\" is not externalservice/ and the name of an ExternalService"
	for name, test := range map[string]struct {
		objects []client.Object
		want    Dependants
	}{
		"nothing": {[]client.Object{policy("p", "", "web"), &appsv1.Deployment{ObjectMeta: named("shop", "web", "externalservice/other")}}, Dependants{}},
		"policies first, each once": {[]client.Object{
			policy("p", "db", "zoo", "api"), policy("q", "db", "api"),
			&appsv1.Deployment{ObjectMeta: named("shop", "zoo", db)}, &appsv1.StatefulSet{ObjectMeta: named("shop", "a", db)},
			&appsv1.DaemonSet{ObjectMeta: named("shop", "b", "externalservice/x,"+db)}, &appsv1.Deployment{ObjectMeta: named("bank", "other", db)},
		}, Dependants{Workloads: []Workload{{"Deployment", "api"}, {"Deployment", "zoo"}, {"DaemonSet", "b"}, {"StatefulSet", "a"}}}},
		"what an annotation declares is restarted by any policy": {[]client.Object{
			restarting(policy("p", "", "web"), "web"), &appsv1.Deployment{ObjectMeta: named("shop", "web", db)},
		}, Dependants{Workloads: []Workload{{"Deployment", "web"}}, Restarted: "RebootPolicy p restarts Deployment web"}},
		"another workload is restarted": {[]client.Object{
			restarting(policy("p", "", "api"), "api"), &appsv1.Deployment{ObjectMeta: named("shop", "web", db)},
		}, Dependants{Workloads: []Workload{{"Deployment", "web"}}}},
		"a policy restarts what it does not select any more": {[]client.Object{restarting(policy("p", "db"), "gone")},
			Dependants{Restarted: "RebootPolicy p restarts Deployment gone"}},
		"a mistake": {[]client.Object{&appsv1.Deployment{ObjectMeta: named("shop", "typo", "db")}, &appsv1.Deployment{ObjectMeta: named("shop", "web", db)}},
			Dependants{Workloads: []Workload{{"Deployment", "web"}}, Mistakes: []string{mistaken}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := On(t.Context(), reader(t, test.objects...), "shop", "db")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnInstallationThatReadsNoWorkloadsHasNoDeclarationsOfTheirs(t *testing.T) {
	store := reader(t, policy("p", "db", "api"), &appsv1.Deployment{ObjectMeta: named("shop", "web", "externalservice/db")})
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"no informer": {&cache.ErrResourceNotCached{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}, 1},
		"a failure":   {errors.New("broken"), -1},
	} {
		from := interceptor.NewClient(store, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if _, own := list.(*autorebootv1.RebootPolicyList); own {
					return c.List(ctx, list, options...)
				}
				return test.err
			},
		})
		got, err := On(t.Context(), from, "shop", "db")
		if (err != nil) != (test.want < 0) || err == nil && len(got.Workloads) != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestAFaultIsThatOfWhatAPolicyNamesOrAWorkloadDeclares(t *testing.T) {
	externalService := func(name string, status metav1.ConditionStatus) client.Object {
		es := &networkingv1.ExternalService{ObjectMeta: named("shop", name, "")}
		es.Status.Conditions = []metav1.Condition{{Type: networkingv1.ConditionFaultInjected, Status: status, Message: "until noon"}}
		return es
	}
	for name, test := range map[string]struct {
		objects  []client.Object
		declared []string
		want     string
	}{
		"nothing is injected": {[]client.Object{externalService("db", metav1.ConditionFalse), policy("p", "db", "web")}, []string{"db"}, ""},
		"by a policy":         {[]client.Object{externalService("db", metav1.ConditionTrue), policy("p", "db", "web")}, nil, "db"},
		"by an annotation":    {[]client.Object{externalService("db", metav1.ConditionTrue)}, []string{"absent", "db"}, "db"},
		"by both": {[]client.Object{externalService("db", metav1.ConditionTrue), externalService("cache", metav1.ConditionTrue), policy("p", "db", "web")},
			[]string{"cache"}, "db"},
		"of another": {[]client.Object{externalService("db", metav1.ConditionTrue), policy("p", "db", "api")}, []string{"cache"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			faults, err := In(t.Context(), reader(t, test.objects...), "shop")
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if test.want != "" {
				want = "a fault is injected into ExternalService " + test.want + ": until noon"
			}
			if got := faults.Of(Workload{"Deployment", "web"}, test.declared); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
