// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package inspect

import (
	"encoding/json"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// told is all that is said of what was read.
func told(t *testing.T, s *Snapshot) map[Key]string {
	t.Helper()
	g := New(s)
	all := map[Key]any{{}: g.Status(labels.Everything())}
	for _, o := range g.Objects {
		all[o.Key] = g.Explain(o)
	}
	all[Key{Kind: "Timeline"}], _ = g.Timeline(func(*Object) bool { return true }, 0, 1000)
	text := map[Key]string{}
	for key, one := range all {
		raw, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		text[key] = string(raw)
	}
	return text
}

func TestWhatIsFollowedIsToldAsWhatIsReadOnce(t *testing.T) {
	s := clusterShop()
	asks := deployment("asks", 1)
	asks.Annotations = map[string]string{common.DependsOnAnnotation: "db, externalservice/db", corev1.LastAppliedConfigAnnotation: "{}"}
	asks.Spec.Template.Annotations = map[string]string{"reloader.stakater.com/auto": "true"}
	unobserved := deployment("unobserved", 3)
	unobserved.Generation = 2
	s.objects["externalservices"] = []client.Object{full(ExternalService, 0), database()}
	s.objects["rebootpolicies"] = append(s.objects["rebootpolicies"], full(RebootPolicy, 0), payments(autorebootv1.ReasonGateClosed))
	s.objects["chaospods"] = []client.Object{full(ChaosPod, 0), killer("killer", "asks")}
	s.objects["deployments"] = append(s.objects["deployments"], full("Deployment", 0), asks, unobserved, deployment("none", 0))
	s.objects["statefulsets"] = []client.Object{full("StatefulSet", 0)}
	s.objects["daemonsets"] = []client.Object{full("DaemonSet", 0)}
	c := s.client(t)
	read, err := Read(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	followed, err := Follow(t.Context(), c, "", func() {})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := followed.Snapshot()
	read.namespaces = snapshot.namespaces // which Read leaves to who needs them
	want, got := told(t, read), told(t, snapshot)
	if len(got) != len(want) {
		t.Errorf("%d objects, want %d", len(got), len(want))
	}
	for key, text := range want {
		if got[key] != text {
			t.Errorf("%s: told\n%s\nwant\n%s", key, got[key], text)
		}
	}
}

// used is how many bytes the heap has that are in use.
func used() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

// fairlead ui is to take less than 200 MiB for 10,000 objects of each of six kinds. Without objects it takes 56 MiB: see
// docs/decisions/performance.md.
func TestTheMemoryOfAnObjectThatIsFollowedIsBounded(t *testing.T) {
	const many, maxObject, maxModel, maxGarbage = 2000, 1300, 600, 1000
	served := large(t, many)
	c, err := NewClient(&rest.Config{Host: served.URL})
	if err != nil {
		t.Fatal(err)
	}
	before := used()
	followed, err := Follow(t.Context(), c, "shop", func() {})
	if err != nil {
		t.Fatal(err)
	}
	objects := used()
	var started, made runtime.MemStats
	runtime.ReadMemStats(&started)
	graph := New(followed.Snapshot())
	status := graph.Status(labels.Everything())
	runtime.ReadMemStats(&made)
	model := used()
	count := uint64(len(graph.Objects))
	if count != many*6 {
		t.Fatalf("%d objects", count)
	}
	for what, one := range map[string]struct{ bytes, limit uint64 }{
		"an object":                       {(objects - before) / count, maxObject},
		"an object in graph and tree":     {(model - objects) / count, maxModel},
		"making graph and tree, in total": {(made.TotalAlloc - started.TotalAlloc) / count, maxGarbage},
	} {
		t.Logf("%s: %d bytes for each object", what, one.bytes)
		if one.bytes > one.limit {
			t.Errorf("%s takes %d bytes, more than %d", what, one.bytes, one.limit)
		}
	}
	runtime.KeepAlive(followed)
	runtime.KeepAlive(status)
}
