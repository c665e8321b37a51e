// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// A pod has nearly everything that a type of the API can have.
func TestWhateverBecomesOfAnObjectIsWhatThePatchMakesOfIt(t *testing.T) {
	seed := time.Now().UnixNano()
	fill := randfill.NewWithSeed(seed).NilChance(0.6).NumElements(1, 2).MaxDepth(8).Funcs(
		func(x *metav1.Time, c randfill.Continue) { x.Time = time.Unix(int64(c.Int31()), 0) },
		func(x *metav1.MicroTime, c randfill.Continue) { x.Time = time.Unix(int64(c.Int31()), 0) },
		func(x *resource.Quantity, _ randfill.Continue) { *x = resource.MustParse("1500m") },
		func(x *metav1.FieldsV1, _ randfill.Continue) { *x = *metav1.NewFieldsV1(`{}`) },
		func(x *intstr.IntOrString, c randfill.Continue) { *x = intstr.FromInt32(c.Int31()) },
	)
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	for n := range 20 {
		var pod corev1.Pod
		fill.Fill(&pod)
		pod.SetGroupVersionKind(kind)
		change := func(pod *corev1.Pod) {
			if n%2 == 0 {
				return
			}
			pod.Spec.NodeName = "elsewhere"
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "sidecar", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}})
			for i := range pod.Spec.Containers {
				pod.Spec.Containers[i].ImagePullPolicy = corev1.PullAlways
			}
		}
		object, err := json.Marshal(&pod)
		if err != nil {
			t.Fatal(err)
		}
		h := newMutating(Options{Kind: kind}, Mutator[*corev1.Pod]{Default: change})
		got := answerOf(t, post(h, podReview(string(object))))
		if !got.Allowed || (len(got.Patch) == 0) != (n%2 == 0) {
			t.Fatalf("seed %d: allowed %t, %+v, patch %s", seed, got.Allowed, got.Result, got.Patch)
		}
		if len(got.Patch) == 0 {
			continue
		}
		patch, err := jsonpatch.DecodePatch(got.Patch)
		if err != nil {
			t.Fatal(err)
		}
		applied, err := patch.Apply(object)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, got.Patch)
		}
		var want, is corev1.Pod
		if err := json.Unmarshal(object, &want); err != nil {
			t.Fatal(err)
		}
		change(&want)
		if err := json.Unmarshal(applied, &is); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, is); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s\n%s", seed, diff, got.Patch)
		}
	}
}

func podReview(object string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},` +
		`"operation":"CREATE","object":` + object + `}}`
}
