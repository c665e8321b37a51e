// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
)

// recorded runs a Broadcaster while record uses it, and returns how many Events were created and patched.
func recorded(t *testing.T, record func(*ControllerRecorder)) (created, patched int, client *fake.Clientset) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client = fake.NewClientset()
		b, err := NewBroadcaster(BroadcasterOptions{Client: client.EventsV1(), Scheme: scheme.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		synctest.Wait()
		record(b.Recorder("tests"))
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, action := range client.Actions() {
		switch action.GetVerb() {
		case "create":
			created++
		case "patch":
			patched++
		}
	}
	return created, patched, client
}

// pod is an object at a resource version, as it is after each write of a status.
func pod(name string, version int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u", ResourceVersion: strconv.Itoa(version)}}
}

func TestRepeatsAreASeriesWhateverTheVersionOfTheObject(t *testing.T) {
	created, patched, client := recorded(t, func(r *ControllerRecorder) {
		for version := range 42 {
			r.Eventf(pod("a", version), pod("b", version), corev1.EventTypeWarning, "Unhealthy", "Check", "try %d", version)
			synctest.Wait()
		}
	})
	if created != 1 || patched != 1 {
		t.Errorf("%d creates and %d patches, want one of each: a series", created, patched)
	}
	list, err := client.EventsV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Regarding.ResourceVersion != "" || list.Items[0].Series == nil {
		t.Errorf("%v: %+v", err, list.Items)
	}
}

// client-go logs each Event that is refused as an error, and the deletion of a namespace refuses one for each object.
func TestANamespaceThatIsDeletedTakesNoEventsWithoutAnError(t *testing.T) {
	refused := apierrors.NewForbidden(eventsv1.Resource("events"), "a", errors.New("no right"))
	terminating := apierrors.NewForbidden(eventsv1.Resource("events"), "a", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct{ answer, want error }{{terminating, nil}, {refused, refused}, {nil, nil}} {
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &eventsv1.Event{}, c.answer })
		s := newSink(&events.EventSinkImpl{Interface: client.EventsV1()}, clocktesting.NewFakePassiveClock(time.Now()))
		_, err := s.Create(t.Context(), &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}})
		if !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.answer, err, c.want)
		}
	}
}

func TestPartsOfAnObjectHaveSeriesOfTheirOwn(t *testing.T) {
	created, patched, _ := recorded(t, func(r *ControllerRecorder) {
		for version := range 10 {
			for _, part := range []string{"a", "b"} {
				r.Eventf(FieldReference(scheme.Scheme, pod("a", version), "spec.containers{"+part+"}"), nil, corev1.EventTypeWarning, "Unhealthy", "Check", part)
				synctest.Wait()
			}
		}
	})
	if created != 2 || patched != 2 {
		t.Errorf("%d creates and %d patches, want two of each", created, patched)
	}
}

// counting is a sink that counts.
type counting struct{ events.EventSink }

func (counting) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, errCounted
}

var errCounted = errors.New("it was written")

func TestEventsAreBoundedForEachObjectEachNamespaceAndOverall(t *testing.T) {
	for name, test := range map[string]struct {
		object func(i int) corev1.ObjectReference
		burst  int
		rate   float64
	}{
		"one object": {func(int) corev1.ObjectReference { return corev1.ObjectReference{Namespace: "shop", Name: "a"} }, objectBurst, objectRate},
		"one namespace": {func(i int) corev1.ObjectReference {
			return corev1.ObjectReference{Namespace: "shop", Name: fmt.Sprint("p-", i)}
		}, namespaceBurst, namespaceRate},
		"all": {func(i int) corev1.ObjectReference {
			return corev1.ObjectReference{Namespace: fmt.Sprint("n-", i), Name: "a"}
		}, overallBurst, overallRate},
	} {
		t.Run(name, func(t *testing.T) {
			const seconds, each = 60, 100
			clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			s, written := newSink(counting{}, clock), 0
			for second := range seconds {
				for i := range each {
					if _, err := s.Create(t.Context(), &eventsv1.Event{Regarding: test.object(second*each + i)}); err != nil {
						written++
					}
				}
				clock.SetTime(clock.Now().Add(time.Second))
			}
			if least := float64(test.burst) + (seconds-1)*test.rate; float64(written) < least-1 || float64(written) > least+1 {
				t.Errorf("%d of %d Events were written, want %v", written, seconds*each, least)
			}
			registry := prometheus.NewRegistry()
			registry.MustRegister(s.dropped)
			families, err := registry.Gather()
			if err != nil || int(families[0].GetMetric()[0].GetCounter().GetValue()) != seconds*each-written {
				t.Errorf("%v: counted as dropped: %v", err, families)
			}
		})
	}
}
