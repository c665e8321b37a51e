// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// login is a Secret whose content was written at noon.
func login() *corev1.Secret {
	s := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: Secret}, ObjectMeta: named("login"), Data: map[string][]byte{"PASSWORD": []byte("hidden")}}
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "vault", Operation: "Update", Time: &noon, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:PASSWORD":{}}}`)}}}
	return s
}

// readsLogin is a pod with a container that reads the Secret.
var readsLogin = corev1.PodSpec{Containers: []corev1.Container{{Name: "app", EnvFrom: []corev1.EnvFromSource{{
	SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "login"}}}}}}}

// readers returns a server with a Secret that two Deployments read. A policy restarts one of them for it, and that one has a pod.
func readers() *server {
	s := shop(autorebootv1.ReasonOutsideWindow)
	policy, api, other := payments(autorebootv1.ReasonOutsideWindow), deployment("api", 3), deployment("other", 3)
	policy.Status.Targets[0].Baselines = []autorebootv1.Baseline{{Trigger: "config", Source: "Secret/login", Fingerprint: "a"}}
	api.Spec.Template.Spec, other.Spec.Template.Spec = readsLogin, readsLogin
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: Pod}, ObjectMeta: named("api-1-x"), Spec: readsLogin, Status: corev1.PodStatus{
		Phase:             corev1.PodRunning,
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: noon}},
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-time.Hour))}}}},
	}}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "api-1", Controller: ptr.To(true)}}
	set := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: named("api-1")}
	set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "api", Controller: ptr.To(true)}}
	s.objects["rebootpolicies"], s.objects["deployments"] = []client.Object{policy}, []client.Object{api, other, deployment("third", 3)}
	s.objects["secrets"], s.objects["pods"], s.objects["replicasets"] = []client.Object{login()}, []client.Object{pod}, []client.Object{set}
	return s
}

func TestWhyOfASecretNamesWhatReadsItWhatRestartsThatAndWhatThatWaitsFor(t *testing.T) {
	text := explained(t, readers(), Key{Secret, "shop", "login"})
	want(t, text, "Secret shop/login is Waiting. Its content was written at 2026-03-02T12:00:00Z by vault, and 2 workloads read it.",
		"Deployment api.\n    RebootPolicy payments restarts it when the content changes.",
		"Restart of Deployment api by RebootPolicy payments is Waiting (OutsideWindow)",
		"Deployment other.\n    It reads the content, and no RebootPolicy restarts it when that changes.\n    To do: Create a RebootPolicy",
		"read by, Deployment shop/api")
	for _, wrong := range []string{"third", "hidden", "ExternalService shop/db (Unknown"} {
		if strings.Contains(text, wrong) {
			t.Errorf("it says %q:\n%s", wrong, text)
		}
	}
}

func TestWhyOfAPodNamesWhatItReadsThatIsNewerAndWhatItsWorkloadWaitsFor(t *testing.T) {
	s := readers()
	text := explained(t, s, Key{Pod, "shop", "api-1-x"})
	want(t, text, "Pod shop/api-1-x is Healthy. It has been ready since 2026-03-02T12:00:00Z.",
		"Secret login since 2026-03-02T12:00:00Z", "Vault wrote it; the content is newer than the pod, whose containers started at 2026-03-02T11:00:00Z",
		"RebootPolicy payments restarts it.", "Restart of Deployment api by RebootPolicy payments is Waiting (OutsideWindow)", "pod of, Deployment shop/api")

	pod, is := s.objects["pods"][0].(*corev1.Pod)
	if !is {
		t.Fatal("no pod")
	}
	pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(noon.Add(time.Minute))
	if text := explained(t, s, Key{Pod, "shop", "api-1-x"}); strings.Contains(text, "newer") {
		t.Errorf("a container that has started since has read it:\n%s", text)
	}
	s.refuse = map[string]*apierrors.StatusError{"secrets": forbidden("secrets"), "replicasets": forbidden("replicasets")}
	text = explained(t, s, Key{Pod, "shop", "api-1-x"})
	want(t, text, "reads, Secret shop/login (Unknown", "grant get on secrets in namespace shop", "grant get on replicasets.apps in namespace shop")
}

func TestASecretIsFoundInEachNamespace(t *testing.T) {
	s := readers()
	found, err := Everywhere(t.Context(), s.client(t), Key{Secret, "", "login"})
	if err != nil || len(found) != 1 || found[0] != (Key{Secret, "shop", "login"}) {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := Everywhere(t.Context(), s.client(t), Key{Secret, "", "none"}); err == nil || !strings.Contains(err.Error(), "in any namespace") {
		t.Error(err)
	}
}

func TestWhyOfAPodDoesNotDenyItsOwner(t *testing.T) {
	for kind, said := range map[string]string{
		ChaosPod: "pod of, ChaosPod shop/canary (", "Job": "pod of, Job shop/canary (Unknown: objects of this kind are not read)",
	} {
		s := readers()
		pod, is := s.objects["pods"][0].(*corev1.Pod)
		if !is {
			t.Fatal("no pod")
		}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "canary", Controller: ptr.To(true)}}
		s.objects["chaospods"] = []client.Object{&chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "canary"}}}
		text := explained(t, s, Key{Pod, "shop", "api-1-x"})
		if want(t, text, said); strings.Contains(text, "it does not exist") {
			t.Errorf("a pod of a %s:\n%s", kind, text)
		}
	}
}
