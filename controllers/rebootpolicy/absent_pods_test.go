// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/podprobe"
)

// liveWithout has the API server list no pod whose name contains a text, which the cache still has. It counts the lists.
func (s *suite) liveWithout(text string) *int {
	s.Helper()
	lists := 0
	s.Live = interceptor.NewClient(s.store, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		lists++
		if err := c.List(ctx, list, opts...); err != nil {
			return err
		}
		pods, ok := list.(*metav1.PartialObjectMetadataList)
		if ok && text != "" {
			pods.Items = slices.DeleteFunc(pods.Items, func(p metav1.PartialObjectMetadata) bool { return strings.Contains(p.Name, text) })
		}
		return nil
	}})
	return &lists
}

const byAge = target + `triggers: [{name: old, type: PodAge, podAge: {max: 10h}}]` + "\n" + `debounce: {quietPeriod: 1s}`

// agedSuite is one whose pods were old enough long ago, and a function that reconciles until a restart would have begun.
func agedSuite(t *testing.T, spec string) (s *suite, settle func()) {
	t.Helper()
	s = newSuite(t, spec, deployment("api", 2, nil)...)
	s.reconcile()
	s.advance(24 * time.Hour)
	return s, func() {
		t.Helper()
		for range 4 {
			s.reconcile()
			s.advance(30 * time.Second)
		}
	}
}

func TestAPodWhoseDeletionTheWatchLostIsNotRestartedFor(t *testing.T) {
	s, settle := agedSuite(t, byAge)
	lists := s.liveWithout("api")
	settle()
	s.expectActions()
	if *lists != 1 {
		t.Errorf("looked %d times for the pods within minutes", *lists)
	}
	if c := meta.FindStatusCondition(s.object().Status.Conditions, "Waiting"); c != nil && c.Status == metav1.ConditionTrue {
		t.Errorf("pending for pods that do not exist: %+v", c)
	}
	s.advance(absentFor)
	settle()
	s.expectActions()
	if *lists > 3 {
		t.Errorf("looked %d times for the pods", *lists)
	}

	s.liveWithout("") // the list was wrong
	s.advance(absentFor)
	settle()
	s.expectActions("Annotate api " + theRestart)
}

func TestAPodThatExistsIsRestartedForBesideOneThatDoesNot(t *testing.T) {
	s, settle := agedSuite(t, byAge)
	s.liveWithout("api-0")
	settle()
	s.expectActions("Annotate api " + theRestart)
}

func TestNothingIsRestartedForPodsThatCannotBeListed(t *testing.T) {
	s, _ := agedSuite(t, byAge)
	s.Live = interceptor.NewClient(s.store, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("out of reach")
	}})
	for range 4 {
		s.reconcile()
		s.advance(30 * time.Second)
	}
	s.expectCondition(autorebootv1.ConditionWaiting, "True Unknown")
	s.expectActions()
}

func TestAProbeOfAPodThatDoesNotExistRestartsNothing(t *testing.T) {
	s, settle := agedSuite(t, target+`triggers: [{name: wedged, type: Probe, probe: {tcpSocket: {port: 80}}}]`+"\n"+`debounce: {quietPeriod: 1s}`)
	for _, result := range []podprobe.Result{{Checked: 1}, {Checked: 1, Unhealthy: 1, Firing: true}} {
		for _, w := range s.observe().workloads {
			s.checks.verdicts[w.UID] = result
		}
		if !result.Firing {
			s.reconcile()
		}
	}
	s.liveWithout("api")
	s.reconcile()
	for _, w := range s.observe().workloads {
		s.checks.verdicts[w.UID] = podprobe.Result{} // of no pod
	}
	settle()
	s.expectActions()
}
