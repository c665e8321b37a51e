// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// operation is something that a client does to one object at one version.
type operation struct {
	name, version string
	// toHub and toSpoke are the conversions that it may cost at most: to v1, which only those need who
	// write at v1alpha1, and to v1alpha1.
	toHub, toSpoke int

	do func(s *suite, object *unstructured.Unstructured) error
}

func create(s *suite, o *unstructured.Unstructured) error { return s.Client.Create(s.Context(), o) }
func remove(s *suite, o *unstructured.Unstructured) error { return s.Client.Delete(s.Context(), o) }

// operations of a client at v1, as the operator is, cost one conversion for each write, which is that
// of the API server's watch cache for v1alpha1. At v1alpha1 each admission webhook has the object, and
// on a change the old one as well, converted for it; the figures are what kube-apiserver 1.36.3 was
// seen to take. Where the webhook changes the object, as by the approval of a new ChaosPod and of one
// whose annotations were taken away, it is converted once more each way. They are done to the objects
// in turn, and the last one takes them away.
var operations = []operation{
	{"create", "v1", 0, 1, create},
	{"get", "v1", 0, 0, (*suite).read},
	{"update", "v1", 0, 1, (*suite).update},
	{"patch", "v1", 0, 1, (*suite).patch},
	{"apply", "v1", 0, 1, (*suite).applied},
	{"update of the status", "v1", 0, 1, (*suite).status},
	{"delete", "v1", 0, 1, remove},

	{"create", "v1alpha1", 4, 3, create},
	{"get", "v1alpha1", 0, 1, (*suite).read},
	{"get from the cache", "v1alpha1", 0, 0, (*suite).readCached},
	{"update", "v1alpha1", 8, 3, (*suite).update},
	{"patch", "v1alpha1", 6, 2, (*suite).patch},
	{"apply", "v1alpha1", 6, 2, (*suite).applied},
	{"delete", "v1alpha1", 1, 3, remove},
}

func (s *suite) read(o *unstructured.Unstructured) error {
	return s.Client.Get(s.Context(), client.ObjectKeyFromObject(o), o)
}

func (s *suite) readCached(o *unstructured.Unstructured) error {
	return s.Client.Get(s.Context(), client.ObjectKeyFromObject(o), o, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
}

// update is of what was read before: reading it is not the update's.
func (s *suite) update(o *unstructured.Unstructured) error {
	o.SetAnnotations(map[string]string{"updated": "yes"})
	return s.Client.Update(s.Context(), o)
}

func (s *suite) patch(o *unstructured.Unstructured) error {
	return s.Client.Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"patched":"yes"}}}`)))
}

func (s *suite) applied(o *unstructured.Unstructured) error {
	wanted := &unstructured.Unstructured{}
	wanted.SetGroupVersionKind(o.GroupVersionKind())
	wanted.SetNamespace(o.GetNamespace())
	wanted.SetName(o.GetName())
	wanted.SetLabels(map[string]string{"applied": "yes"})
	return s.Client.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("counting"), client.ForceOwnership)
}

func (s *suite) status(o *unstructured.Unstructured) error {
	return s.Client.Status().Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"status":{"lastRunTime":"2026-01-01T00:00:00Z"}}`)))
}

// resting returns the conversions of a kind to either version once there are as many as wanted and their
// number stays: a watch cache follows a write a moment late.
func (s *suite) resting(k kind, wanted int) (toHub, toSpoke int) {
	s.Helper()
	since := time.Now()
	s.Eventually(func() error {
		up, down := s.conversions(k)
		if up != toHub || down != toSpoke {
			toHub, toSpoke, since = up, down, time.Now()
		}
		if same := time.Since(since); up+down < wanted || same < 1500*time.Millisecond {
			<-time.After(200 * time.Millisecond) // the page of metrics is large
			return fmt.Errorf("%s: %d conversions to v1 and %d to v1alpha1, the same for %s; want %d at least", k.name, up, down, same, wanted)
		}
		return nil
	})
	return toHub, toSpoke
}

// Nothing reconciles here, so that all conversions are of the client's doing.
func TestAnOperationCostsNoMoreConversionsThanItDid(t *testing.T) {
	t.Parallel()
	const count = 5
	s, _ := newOwnSuite(t, framework.Outside, "--set=controllers.enabled=false")
	specs := map[string]string{
		"v1":       `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`,
		"v1alpha1": `{template: {spec: {containers: [{name: c, image: nginx}]}}, nextStop: "2027-01-01T00:00:00Z"}`,
	}
	for version, spec := range specs {
		s.list(chaosPods, version, metav1.ListOptions{}) // its cache is there from now on
		objects := make([]*unstructured.Unstructured, count)
		for i := range objects {
			objects[i] = s.Objects(chaosPods.object(version, fmt.Sprintf("counted-%d", i), spec))[0]
			objects[i].SetNamespace(s.Namespace)
		}
		up, down := s.resting(chaosPods, 0)
		for _, op := range operations {
			if op.version != version {
				continue
			}
			for _, object := range objects {
				if err := op.do(s, object); err != nil {
					t.Fatalf("%s at %s: %v", op.name, version, err)
				}
			}
			nextUp, nextDown := s.resting(chaosPods, 0)
			t.Logf("%s at %s, %d times: %d conversions to v1, %d to v1alpha1", op.name, version, count, nextUp-up, nextDown-down)
			if nextUp-up > count*op.toHub || nextDown-down > count*op.toSpoke {
				t.Errorf("%s at %s, %d times: %d conversions to v1 and %d to v1alpha1; want %d and %d for each at most",
					op.name, version, count, nextUp-up, nextDown-down, op.toHub, op.toSpoke)
			}
			up, down = nextUp, nextDown
		}
	}
}
