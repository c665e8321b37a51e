// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// A pod has about every shape that a Kubernetes type can have, and ChaosPod holds one.
func TestDecodeReadsAPodAsEncodingJSONDoes(t *testing.T) {
	const seed = 20260801
	fill := randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Funcs(
		func(x *metav1.Time, c randfill.Continue) { x.Time = time.Unix(int64(c.Int31()), 0) },
		func(x *metav1.MicroTime, c randfill.Continue) { x.Time = time.Unix(int64(c.Int31()), 0) },
		func(x *resource.Quantity, _ randfill.Continue) { *x = resource.MustParse("1Gi") },
		func(x *metav1.FieldsV1, _ randfill.Continue) { *x = *metav1.NewFieldsV1(`{"f:a":{}}`) },
		func(x *intstr.IntOrString, c randfill.Continue) { *x = intstr.FromInt32(c.Int31()) },
	)
	withoutManagedFields := cmpopts.IgnoreTypes([]metav1.ManagedFieldsEntry{}) // they are not read
	pods := objectsOf[corev1.Pod]()
	for i := range 100 {
		var pod, want corev1.Pod
		fill.Fill(&pod)
		raw, err := json.Marshal(&pod)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		got, wrong := pods.decode(read(t, string(raw)))
		if wrong != nil {
			t.Fatalf("seed %d, pod %d: %v", seed, i, wrong)
		}
		if diff := cmp.Diff(&want, got, withoutManagedFields); diff != "" {
			t.Fatalf("seed %d, pod %d (-want +got):\n%s", seed, i, diff)
		}
	}
}

// read reads JSON.
func read(t *testing.T, text string) jsonindex.Value {
	t.Helper()
	v, err := jsonindex.NewDocument().Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
