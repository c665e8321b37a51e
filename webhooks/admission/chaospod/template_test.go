// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

func TestATemplateIsTriedByADryRun(t *testing.T) {
	of := func(image string) *chaosv1.ChaosPod {
		return killer(func(p *chaosv1.ChaosPod) {
			p.Spec.Target = chaosv1.Target{Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}}
		})
	}
	spec := field.NewPath("spec")
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "payments", field.ErrorList{
		field.Required(spec.Child("volumes").Index(0).Child("name"), "give one"),
		field.NotSupported(spec.Child("restartPolicy"), "x", []string{"Always"}),
	})
	for name, test := range map[string]struct {
		obj, old *chaosv1.ChaosPod
		says     error
		tries    int
		want     []string
	}{
		"valid":                   {obj: of("a"), tries: 1},
		"no template":             {obj: killer(), says: invalid},
		"the same as stored":      {obj: of("a"), old: of("a"), says: invalid},
		"a quota":                 {obj: of("a"), says: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "payments", errors.New("exceeded quota")), tries: 1},
		"the API server is away":  {obj: of("a"), says: errors.New("connection refused"), tries: 1},
		"without a cause of ours": {obj: of("a"), says: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "payments", nil), tries: 1},
		"invalid": {obj: of("b"), old: of("a"), says: invalid, tries: 1, want: []string{
			"spec.target.template.spec.volumes[0].name: Required value: give one",
			`spec.target.template.spec.restartPolicy: Unsupported value: "x": supported values: "Always"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			client, tries := fake.NewClientset(), 0
			client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				tries++
				create := action.(clienttesting.CreateActionImpl)
				if pod := create.Object.(*corev1.Pod); pod.Name != "payments" || len(create.CreateOptions.DryRun) != 1 {
					t.Errorf("created %v by %v", pod, create.CreateOptions)
				}
				return true, &corev1.Pod{}, test.says
			})
			w := &webhook{options: Options{Pods: client.CoreV1()}}
			var got []string
			for _, err := range w.tried(t.Context(), test.obj, test.old) {
				got = append(got, err.Error())
			}
			if len(got) != len(test.want) || tries != test.tries {
				t.Fatalf("after %d tries %q, want %d and %q", tries, got, test.tries, test.want)
			}
			for i := range got {
				if got[i] != test.want[i] {
					t.Errorf("%q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}
