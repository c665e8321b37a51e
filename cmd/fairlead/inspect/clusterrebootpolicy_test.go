// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// onChange is a ClusterRebootPolicy that one of three namespaces refuses.
func onChange() *v1.ClusterRebootPolicy {
	return &v1.ClusterRebootPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoreboot.fairlead.dev/v1", Kind: ClusterRebootPolicy},
		ObjectMeta: metav1.ObjectMeta{Name: "on-change", Generation: 1, UID: "1"},
		Spec: v1.ClusterRebootPolicySpec{
			NamespaceSelector: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"team": "a"}},
			Template: v1.RebootPolicyTemplate{Spec: v1.RebootPolicySpec{
				Targets:  []v1.Target{{Selector: &common.LabelSelector{}, OptIn: ptr.To(v1.OptInAnnotation)}},
				Triggers: []v1.Trigger{{Name: "config", Type: v1.TriggerConfigChange}},
			}},
		},
		Status: v1.ClusterRebootPolicyStatus{
			ObservedGeneration: 1, Namespaces: ptr.To[int32](3), Policies: ptr.To[int32](2), RefusedNamespaces: ptr.To[int32](1),
			Conditions: []metav1.Condition{condition("Ready", "False", v1.ReasonWriteRefused, "3 selected namespaces have a workload for the policy")},
			Refusals:   []v1.NamespaceRefusal{{Namespace: "full", Reason: v1.ReasonWriteRefused, Message: "exceeded quota: none"}},
		},
	}
}

// madeIn is the policy that onChange has made in a namespace.
func madeIn(namespace string) *v1.RebootPolicy {
	p := payments(v1.ReasonBlackout)
	p.Namespace, p.Name, p.Spec = namespace, "on-change", onChange().Spec.Template.Spec
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(onChange(), v1.GroupVersion.WithKind(ClusterRebootPolicy))}
	return p
}

func namespace(name, team string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

// clusterShop has namespaces for each cause.
func clusterShop() *server {
	s := &server{objects: map[string][]client.Object{
		"clusterrebootpolicies": {onChange()},
		"rebootpolicies":        {madeIn("shop"), madeIn("store")},
	}}
	for _, w := range [][3]string{{"shop", "api", "true"}, {"full", "api", "true"}, {"own", "api", "true"}, {"out", "api", "false"}, {"quiet", "api", ""}, {"new", "api", "true"}, {"elsewhere", "api", "true"}} {
		d := deployment(w[1], 3)
		if d.Namespace = w[0]; w[2] != "" {
			d.Annotations = map[string]string{common.RestartOnChangeAnnotation: w[2]}
		}
		s.objects["deployments"] = append(s.objects["deployments"], d)
	}
	own := payments(v1.ReasonBlackout)
	own.Namespace, own.Name, own.Spec.Gates = "own", "mine", nil
	s.objects["rebootpolicies"] = append(s.objects["rebootpolicies"], own)
	for _, n := range []string{"shop", "full", "own", "out", "quiet", "new", "empty"} {
		s.objects["namespaces"] = append(s.objects["namespaces"], namespace(n, "a"))
	}
	s.objects["namespaces"] = append(s.objects["namespaces"], namespace("elsewhere", "b"))
	return s
}

func TestWhyTellsWhereAClusterRebootPolicyHasItsPolicyAndWhyElsewhereNot(t *testing.T) {
	key, err := ParseKey("crbp/on-change", "shop")
	if err != nil {
		t.Fatal(err)
	}
	text := explained(t, clusterShop(), key)
	want(t, text, "ClusterRebootPolicy on-change is Degraded.",
		"2 namespaces have RebootPolicy on-change: shop; store.",
		"Namespace full (WriteRefused).", "Exceeded quota: none.",
		"A policy is pending: new (Deployment api).",
		"Another RebootPolicy for the workload takes precedence: own (RebootPolicy mine takes Deployment api).",
		"An annotation of the workload opts out: out (Deployment api).",
		"No workload asks for it: empty; quiet.",
		"makes, RebootPolicy shop/on-change (Waiting")
	if strings.Contains(text, "elsewhere") {
		t.Errorf("a namespace that is not selected is named:\n%s", text)
	}
}

func TestWhyTellsWhichClusterRebootPolicyDoesNotRestartAWorkload(t *testing.T) {
	s := clusterShop()
	for in, expected := range map[string]string{
		"own":       "Another RebootPolicy for the workload takes precedence: RebootPolicy mine takes Deployment api.",
		"out":       "An annotation of the workload opts out.",
		"quiet":     "The workload does not ask for it.",
		"elsewhere": "Its namespaceSelector does not select the namespace.",
		"new":       "A policy is pending.",
	} {
		one := &server{objects: map[string][]client.Object{"clusterrebootpolicies": s.objects["clusterrebootpolicies"]}}
		for resource, all := range s.objects { // the server does not know namespaces
			for _, o := range all {
				if o.GetNamespace() == in || resource == "namespaces" {
					one.objects[resource] = append(one.objects[resource], o)
				}
			}
		}
		want(t, explained(t, one, Key{"Deployment", in, "api"}), "ClusterRebootPolicy on-change.", expected)
	}
	own := &server{objects: map[string][]client.Object{"clusterrebootpolicies": {onChange()}, "rebootpolicies": {madeIn("shop")},
		"deployments": {s.objects["deployments"][0]}, "namespaces": {namespace("shop", "a")}}}
	if text := explained(t, own, Key{"Deployment", "shop", "api"}); strings.Contains(text, "ClusterRebootPolicy on-change.") {
		t.Errorf("it is said why a policy is not made that is:\n%s", text)
	}
}

func TestStatusCountsTheNamespacesOfAClusterRebootPolicy(t *testing.T) {
	s := clusterShop()
	s.objects["rebootpolicies"], s.objects["deployments"] = []client.Object{madeIn("shop")}, nil
	_, text := status(t, s, "")
	want(t, text, "ClusterRebootPolicy/on-change   Degraded   WriteRefused: 2 of 3 namespaces have its policy, and 1 refuses it")
	s.objects["rebootpolicies"] = nil // and "shop" refuses none
	if _, text := status(t, s, ""); strings.Contains(text, "on-change") {
		t.Errorf("a namespace without its policy shows it:\n%s", text)
	}
	for reason, health := range map[string]Health{v1.ClusterReasonNotInStep: Progressing, v1.ReasonForbidden: Failed, v1.ClusterReasonInStep: Healthy} {
		of := onChange()
		of.Status.RefusedNamespaces, of.Status.Refusals = ptr.To[int32](0), nil
		of.Status.Conditions[0].Reason = reason
		if reason == v1.ClusterReasonInStep {
			of.Status.Conditions[0].Status = metav1.ConditionTrue
		}
		if got, said := healthOf(of); got != health || !strings.Contains(said, "2 of 3 namespaces") {
			t.Errorf("%s: %s, %s", reason, got, said)
		}
	}
}

func TestAClusterRebootPolicyThatMayNotBeReadIsNotHealthy(t *testing.T) {
	s := clusterShop()
	s.objects["rebootpolicies"] = []client.Object{madeIn("shop")}
	s.objects["deployments"] = []client.Object{deployment("api", 3)}
	s.refuse = map[string]*apierrors.StatusError{"clusterrebootpolicies": forbidden("clusterrebootpolicies"), "namespaces": forbidden("namespaces")}
	found, text := status(t, s, "")
	want(t, text, "Not known: clusterrebootpolicies.autoreboot.fairlead.dev could not be read: you have no permission: grant list on clusterrebootpolicies.autoreboot.fairlead.dev in all namespaces.")
	if HasErrors(found.Unread) {
		t.Error("what a user of one namespace may not read is an error")
	}
	want(t, explained(t, s, Key{RebootPolicy, "shop", "on-change"}), "ClusterRebootPolicy on-change has made it",
		"made by, ClusterRebootPolicy on-change (Unknown: it could not be read: you have no permission")
	all, err := Read(t.Context(), s.client(t), metav1.NamespaceAll)
	if err != nil || !HasErrors(all.Unread) {
		t.Errorf("for all namespaces it is none: %v", err)
	}
	// Who may read it, and no namespaces.
	s.refuse = map[string]*apierrors.StatusError{"namespaces": forbidden("namespaces")}
	want(t, explained(t, s, Key{"Deployment", "shop", "api"}), "whether its namespaceSelector selects the namespace could not be read")
	want(t, explained(t, s, Key{ClusterRebootPolicy, "", "on-change"}), "Not known: namespaces could not be read")
}

// Many policies are counted, and not listed.
func TestPoliciesOfAClusterRebootPolicyAreListedUpToABound(t *testing.T) {
	s := clusterShop()
	s.objects["rebootpolicies"] = nil
	for i := range 300 {
		s.objects["rebootpolicies"] = append(s.objects["rebootpolicies"], madeIn(fmt.Sprintf("n-%03d", i)))
	}
	text := explained(t, s, Key{ClusterRebootPolicy, "", "on-change"})
	want(t, text, "300 namespaces have RebootPolicy on-change: n-000; n-001; n-002; and 297 more.")
	if strings.Contains(text, "makes, RebootPolicy") || !slices.Contains(KindNames(), "clusterrebootpolicy") {
		t.Error(text)
	}
}
