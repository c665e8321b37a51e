// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func about(name, reason string) Event {
	return Event{
		Regarding: corev1.ObjectReference{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Namespace: "shop", Name: name, UID: "u"},
		Reason:    reason, Action: "Decode", Note: "It is broken.",
	}
}

// written runs replicas, has use give them notices, and returns the Events that are there after that.
func written(t *testing.T, replicas int, use func(replicas []*Recorder)) (events []string, of []*Recorder) {
	t.Helper()
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, replicas)
	for i := range replicas {
		n, err := New(Options{Client: client.EventsV1(), Instance: fmt.Sprint("replica-", i)})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- n.Run(ctx) }()
		of = append(of, n)
	}
	use(of)
	synctest.Wait()
	cancel()
	for range replicas {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	list, err := client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range list.Items {
		events = append(events, event.Regarding.Name+" "+event.Reason)
	}
	return events, of
}

// count returns the metric's value for a result.
func count(t *testing.T, n *Recorder, result string) int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(n.counts)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == result {
				total += int(metric.GetCounter().GetValue())
			}
		}
	}
	return total
}

func TestAllReplicasTogetherWriteOneEventInAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, of := written(t, 2, func(replicas []*Recorder) {
			for range 1000 {
				for _, n := range replicas {
					n.Record(about("a", "Undecodable"))
				}
			}
			synctest.Wait()
		})
		if len(events) != 1 {
			t.Errorf("Events: %v", events)
		}
		if w, p := count(t, of[0], "written")+count(t, of[1], "written"), count(t, of[0], "present")+count(t, of[1], "present"); w != 1 || p != 1 {
			t.Errorf("%d were written and %d were there", w, p)
		}
	})
}

func TestAnotherWindowObjectOrReasonIsAnotherEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, _ := written(t, 1, func(replicas []*Recorder) {
			replicas[0].Record(about("a", "Undecodable"))
			replicas[0].Record(about("a", "ConversionFailed"))
			replicas[0].Record(about("b", "Undecodable"))
			synctest.Wait()
			<-time.After(window)
			replicas[0].Record(about("a", "Undecodable"))
		})
		if len(events) != 4 {
			t.Errorf("Events: %v", events)
		}
	})
}

func TestAnotherNoteIsAnotherEventWhereThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, _ := written(t, 2, func(replicas []*Recorder) {
			for _, replica := range replicas {
				for _, note := range []string{"one", "two", "one"} {
					each, first := about("a", "Unreadable"), about("b", "Undecodable")
					each.Note, first.Note, each.PerNote = note, note, true
					replica.Record(each)
					replica.Record(first)
				}
			}
		})
		slices.Sort(events)
		if want := []string{"a Unreadable", "a Unreadable", "b Undecodable"}; !slices.Equal(events, want) {
			t.Errorf("Events: %v", events)
		}
	})
}

func TestAFloodIsBoundedAndNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, of := written(t, 1, func(replicas []*Recorder) {
			for i := range 100_000 {
				replicas[0].Record(about(fmt.Sprint("object-", i), "ConversionFailed"))
			}
			<-time.After(time.Minute)
		})
		if limit := burst + 60*perSecond + 1; float64(len(events)) > limit || len(events) < burst {
			t.Errorf("%d Events in a minute, at most %v are right", len(events), limit)
		}
		if got := len(of[0].recent); got > maxRecent {
			t.Errorf("%d matters are remembered", got)
		}
		if dropped := count(t, of[0], "dropped"); dropped < 99_000 {
			t.Errorf("%d were dropped", dropped)
		}
	})
}

func TestWhatCannotBeWrittenIsCountedAndNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		tries := 0
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			tries++
			return true, nil, context.DeadlineExceeded
		})
		n, err := New(Options{Client: client.EventsV1(), Instance: "replica"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		n.Record(about("a", "Undecodable"))
		n.Record(about("a", "Undecodable"))
		<-time.After(time.Second)
		cancel()
		if err := <-ended; err != nil || tries != 1 || count(t, n, "failed") != 1 {
			t.Errorf("%v: %d tries", err, tries)
		}
	})
}

func TestAnObjectWithoutANameOrNamespaceGetsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, _ := written(t, 1, func(replicas []*Recorder) {
			nameless, homeless := about("", "Undecodable"), about("a", "Undecodable")
			homeless.Regarding.Namespace = ""
			replicas[0].Record(nameless)
			replicas[0].Record(homeless)
		})
		if len(events) > 0 {
			t.Errorf("Events: %v", events)
		}
	})
}

func TestTheEventOfAnObjectWithoutNamespacesIsInDefault(t *testing.T) {
	notice := about("fairlead-validating", "CABundleLost")
	notice.Regarding.Namespace, notice.ClusterScoped = "", true
	if event := notice.object("replica", time.Unix(1e9, 0), window); event.Namespace != metav1.NamespaceDefault || event.Regarding.Namespace != "" {
		t.Errorf("%+v", event)
	}
	synctest.Test(t, func(t *testing.T) {
		events, _ := written(t, 3, func(replicas []*Recorder) {
			for _, replica := range replicas {
				replica.Record(notice)
			}
		})
		if len(events) != 1 {
			t.Errorf("Events: %v", events)
		}
	})
}

func TestAnEventKeepsToTheLimitsOfTheAPIServer(t *testing.T) {
	notice := about(strings.Repeat("n", 253), "Undecodable")
	notice.Note = strings.Repeat("€", 1000)
	event := notice.object(strings.Repeat("i", 500), time.Unix(1e9, 0), window)
	if len(event.Name) > 253 || event.Name != strings.ToLower(event.Name) || len(event.Note) > 1024 || len(event.ReportingInstance) > 128 ||
		!strings.HasPrefix(event.Note, "€") || event.Namespace != event.Regarding.Namespace || event.EventTime.IsZero() {
		t.Errorf("%+v", event)
	}
}
