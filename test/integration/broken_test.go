// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// valid are specs at v1.
var valid = map[string]string{
	"ExternalService": `{suspend: true, deletionPolicy: Orphan, ports: [{name: sql, port: 5432, targetPort: 6000}], endpoints: [{name: east, zone: eu-east, addresses: [192.0.2.10, 192.0.2.11]}]}`,
	"RebootPolicy":    `{suspend: true, cooldown: 7m, targets: [{kind: Deployment, name: web}, {kind: Deployment, name: api}], triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`,
	"ChaosPod":        `{suspend: true, target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`,
}

// damage maps a name to a way to break a good v1 object. None of these objects would pass a webhook or a schema; backups, other
// tools and older versions have all of it.
var damage = map[string]func(object map[string]any){
	"whole":          func(map[string]any) {},
	"no-spec":        func(o map[string]any) { delete(o, "spec") },
	"null-spec":      func(o map[string]any) { o["spec"] = nil },
	"text-spec":      func(o map[string]any) { o["spec"] = "spec" },
	"list-spec":      func(o map[string]any) { o["spec"] = []any{1, nil, "x"} },
	"unknown-field":  func(o map[string]any) { spec(o)["shade"] = map[string]any{"deep": []any{1}} },
	"null-lists":     func(o map[string]any) { each(spec(o), func(any) any { return nil }) },
	"texts":          func(o map[string]any) { each(spec(o), func(any) any { return "text" }) },
	"numbers":        func(o map[string]any) { each(spec(o), func(any) any { return 1e300 }) },
	"lists-in-lists": func(o map[string]any) { each(spec(o), func(v any) any { return []any{[]any{v}, nil} }) },
	"bad-durations": func(o map[string]any) {
		spec(o)["cooldown"], spec(o)["resolution"] = "1 fortnight", map[string]any{"minTTL": "-1", "maxTTL": 5}
		spec(o)["schedule"] = map[string]any{"interval": "soon", "at": "never"}
	},
	"huge-annotation":   func(o map[string]any) { annotate(o, "note.example.com/x", strings.Repeat("x", 200<<10)) },
	"larger-annotation": func(o map[string]any) { annotate(o, "note.example.com/x", strings.Repeat("x", 300<<10)) },
	// The API server validates annotations after a conversion only where they have changed.
	"annotation-of-no-name": func(o map[string]any) { annotate(o, "-no name-", "x") },
	"text-status":           func(o map[string]any) { o["status"] = "fine" },
	"junk-status": func(o map[string]any) {
		o["status"] = map[string]any{"conditions": 5, "endpoints": []any{"x"}, "history": map[string]any{}, "lastRunTime": 7, "observedGeneration": "many"}
	},
}

func spec(object map[string]any) map[string]any { return object["spec"].(map[string]any) }

// each changes every member of an object.
func each(object map[string]any, change func(any) any) {
	for name, value := range object {
		object[name] = change(value)
	}
}

func annotate(object map[string]any, key, value string) {
	metadata := object["metadata"].(map[string]any)
	if metadata["annotations"] == nil {
		metadata["annotations"] = map[string]any{}
	}
	metadata["annotations"].(map[string]any)[key] = value
}

// newBrokenSuite makes a namespace whose operator is not told of what the test puts into etcd: others
// would find it in their lists.
func newBrokenSuite(t *testing.T) (*suite, *etcd, *framework.Replica) {
	t.Helper()
	s, replica := newOwnSuite(t, framework.Outside)
	return s, s.etcdOf(s.Cluster.Cluster), replica
}

// stored is a good object as the API server would store it.
func (s *suite) stored(k kind, name string) map[string]any {
	return map[string]any{
		"apiVersion": k.group + "/v1", "kind": k.name, "spec": parse(valid[k.name]), "metadata": map[string]any{
			"name": name, "namespace": s.Namespace, "uid": string(uuid.NewUUID()), "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
		},
	}
}

// One object that cannot be converted fails every list of its version, for everybody: whatever reached
// etcd, it must not be one of Fairlead's (open-telemetry/opentelemetry-operator#4288).
func (s *suite) failNoList(store *etcd) {
	names := slices.Sorted(maps.Keys(damage))
	for _, k := range kinds {
		views := map[string]*unstructured.Unstructured{}
		for _, version := range []string{"v1", "v1alpha1"} {
			list := s.listed(k, version)
			if got := slices.Sorted(maps.Keys(list)); !slices.Equal(got, names) {
				s.Errorf("LIST of %s at %s has %v, and %v are stored", k.name, version, got, names)
			}
			if got := s.watched(k, version, len(names)); !slices.Equal(got, names) {
				s.Errorf("WATCH of %s at %s shows %v, and %v are stored", k.name, version, got, names)
			}
			if version == "v1alpha1" {
				views = list
			}
		}
		// A view that is stored as it is, as by a backup, reads as what it is a view of.
		stored := s.listed(k, "v1")
		for name, view := range views {
			view.SetName("again-" + name)
			view.SetUID(uuid.NewUUID())
			view.SetResourceVersion("")
			store.put(k, s.Namespace, view.GetName(), view.Object)
			again := s.view(k, "v1", view.GetName())
			if got, want := field(again, "spec"), field(stored[name], "spec"); got != want {
				s.Errorf("%s %s came back from v1alpha1 with another spec:\n got %.1000s\nwant %.1000s", k.name, name, got, want)
			}
		}
	}
}

// listed returns the objects of a LIST by name. It goes to etcd, and not to a cache that was filled
// before.
func (s *suite) listed(k kind, version string) map[string]*unstructured.Unstructured {
	s.Helper()
	var list struct{ Items []map[string]any }
	s.Must(json.Unmarshal([]byte(s.run("get", "--raw", "/apis/"+k.group+"/"+version+"/namespaces/"+s.Namespace+"/"+k.resource)), &list))
	found := map[string]*unstructured.Unstructured{}
	for _, item := range list.Items {
		object := &unstructured.Unstructured{Object: item}
		found[object.GetName()] = object
	}
	return found
}

// watched returns which objects a WATCH begins with: those before the bookmark that ends its initial events, or as many as are
// expected where the API server has no such bookmark, as that of 1.33.
func (s *suite) watched(k kind, version string, expected int) (names []string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: version, Kind: k.name + "List"})
	events, err := s.Client.Watch(ctx, list, client.InNamespace(s.Namespace), &client.ListOptions{Raw: &metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}})
	unmarked := apierrors.IsInvalid(err)
	if unmarked {
		events, err = s.Client.Watch(ctx, list, client.InNamespace(s.Namespace))
	}
	s.Must(err)
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Bookmark {
			break
		}
		object, found := event.Object.(*unstructured.Unstructured)
		if !found || event.Type != watch.Added && event.Type != watch.Modified {
			s.Fatalf("WATCH of %s at %s: %s %.300s", k.name, version, event.Type, framework.Text(event.Object))
		}
		if !slices.Contains(names, object.GetName()) {
			names = append(names, object.GetName())
		}
		if unmarked && len(names) == expected {
			break
		}
	}
	s.Must(ctx.Err())
	slices.Sort(names)
	return names
}
