// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// startBound is how long a start may take although every object must be converted by the very
	// process that lists it. A deadlock lasts until the cache sync timeout, of five minutes.
	startBound = 2 * time.Minute

	toConvert = `fairlead_conversion_objects_total{from="v1alpha1",kind="ExternalService",result="converted",to="v1"}`
)

// The deadlock of kubernetes-sigs/controller-runtime#1685 and #2322: objects are stored at the other
// version, so that the LIST which fills a cache needs the /convert of the process whose cache it is.
func TestAStartWhoseCachesNeedItsOwnConversionsDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	type situation struct {
		elect, warmup, restarted bool
		namespace                string
	}
	var situations []*situation
	for _, elect := range []bool{true, false} {
		for _, warmup := range []bool{true, false} {
			for _, restarted := range []bool{false, true} {
				situations = append(situations, &situation{elect, warmup, restarted, ""})
			}
		}
	}
	situations = framework.Sample(framework.NewSampler(t), 4, situations)
	names := []string{"a", "b", "c"}

	// Written through the API while v1alpha1 is what is stored, by a replica that reconciles none
	// of them: a reconciler's write would store them again.
	writer := s.start("--set=namespaces=kube-node-lease")
	writer.reconciles()
	s.store("v1alpha1")
	defer s.store("v1") // changes nothing unless the test ends in between
	for _, one := range situations {
		one.namespace = s.NewNamespace()
		s.create(one.namespace, names...)
	}
	s.store("v1")
	s.Retire(writer.Replica)

	for _, one := range situations {
		t.Run(fmt.Sprintf("leader-elect=%t/warmup=%t/apiserver-restarted=%t", one.elect, one.warmup, one.restarted), func(t *testing.T) {
			s := s.in(t)
			s.freeLeases()
			if one.restarted {
				s.Must(s.Component(cluster.APIServer).Restart(t.Context()))
			} else {
				// As after a new installation of the CRDs; it also drops all that is cached.
				s.wipe(framework.Definitions[0])
			}
			began := time.Now()
			r := s.start("--set=namespaces="+one.namespace, fmt.Sprintf("--leader-elect=%t", one.elect), fmt.Sprintf("--set=controllers.warmup=%t", one.warmup))
			r.reconciles()
			s.reconciled(one.namespace, names...)
			if took := time.Since(began); took > startBound {
				t.Errorf("the start took %s", took)
			}
			if got := r.mustMetric(toConvert); got < float64(len(names)) {
				t.Errorf("the replica converted %v objects from v1alpha1, so nothing was stored at that version", got)
			}
			r.Kill() // an orderly stop is for other tests
			t.Logf("reconciled %.0f ms after the start", 1000*time.Since(began).Seconds())
		})
	}
}

// store makes a version of ExternalService the one that is stored.
func (s *suite) store(version string) {
	s.Helper()
	object, err := s.Dynamic.Resource(crds).Get(s.Context(), framework.Definitions[0], metav1.GetOptions{})
	s.Must(err)
	versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
	s.Must(err)
	for _, one := range versions {
		one := one.(map[string]any)
		one["storage"] = one["name"] == version
	}
	s.patch(crds, framework.Definitions[0], map[string]any{"spec": map[string]any{"versions": versions}})
}

// wipe removes the CA bundle of a CRD.
func (s *suite) wipe(crd string) {
	s.Helper()
	s.patch(crds, crd, map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{
		"clientConfig": map[string]any{"caBundle": nil}}}}})
}
