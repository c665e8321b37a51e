// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Object reads one object from YAML, and puts it into the namespace unless its kind has none.
func (t *Test) Object(manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	t.Must(yaml.Unmarshal([]byte(manifest), &object.Object))
	if !strings.HasPrefix(object.GetKind(), "Cluster") {
		object.SetNamespace(t.Namespace)
	}
	return object
}

// named is an object of the namespace.
func (t *Test) named(apiVersion, kind, name string) *unstructured.Unstructured {
	t.Helper()
	return t.Object(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %q}}", apiVersion, kind, name))
}

// Objects reads a stream of YAML or JSON.
func (t *Test) Objects(manifests string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := objectsIn(strings.NewReader(manifests))
	t.Must(err)
	return objects
}

// Retry calls write again, at most nine times, where it ends in an internal error: a webhook may be too late on a busy
// machine.
func Retry(write func() error) error {
	return retry.OnError(wait.Backoff{Steps: 10, Duration: time.Second}, apierrors.IsInternalError, write)
}

// Make creates an object from YAML.
func (t *Test) Make(manifest string) *unstructured.Unstructured {
	t.Helper()
	object := t.Object(manifest)
	t.Must(t.Client.Create(t.Context(), object))
	return object
}

// Merge edits an object by a merge patch in YAML.
func (t *Test) Merge(apiVersion, kind, name, patch string) {
	t.Helper()
	t.Must(t.TryMerge(apiVersion, kind, name, patch))
}

// TryMerge is Merge, and returns the API server's error.
func (t *Test) TryMerge(apiVersion, kind, name, patch string) error {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(patch))
	t.Must(err)
	return t.Client.Patch(t.Context(), t.named(apiVersion, kind, name), client.RawPatch(types.MergePatchType, raw))
}

// Delete deletes an object, and waits for nothing.
func (t *Test) Delete(apiVersion, kind, name string) {
	t.Helper()
	t.Must(t.Client.Delete(t.Context(), t.named(apiVersion, kind, name)))
}

// Get reads an object of the namespace by its name.
func (t *Test) Get(name string, object client.Object) error {
	return t.Client.Get(t.Context(), client.ObjectKey{Namespace: t.Namespace, Name: name}, object)
}

// Grant gives a subject of a RoleBinding, in YAML, what a Role's rules say.
func (t *Test) Grant(name, subject string, rules ...string) {
	t.Helper()
	t.Make("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: " + name + "}, rules: [" + strings.Join(rules, ", ") + "]}")
	t.Make("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: " + name + `},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ` + name + "}, subjects: [" + subject + "]}")
}

// NewWriter returns the name and the client of a user who may write one of Fairlead's kinds in the namespace and do what
// further rules of a Role say, once the API server knows it.
func (t *Test) NewWriter(name string, kind client.Object, resource string, rules ...string) (string, client.WithWatch) {
	t.Helper()
	user, err := t.User(name + "@" + t.Namespace)
	t.Must(err)
	writer, err := NewClient(user.Kubeconfig)
	t.Must(err)
	plural, group, _ := strings.Cut(resource, ".")
	t.Grant(name, "{kind: User, name: \""+user.Name+"\"}", append(rules, fmt.Sprintf(`{apiGroups: [%s], resources: [%s], verbs: [create, delete, deletecollection, get, list, patch, update, watch]}`, group, plural))...)
	t.Eventually(func() error {
		return client.IgnoreNotFound(writer.Get(t.Context(), client.ObjectKey{Namespace: t.Namespace, Name: "none"}, kind))
	})
	return user.Name, writer
}

// Told are the events on an object, by reason: every occurrence that the API server has.
func (t *Test) Told(kind, name string) map[string][]eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	t.Must(t.Client.List(t.Context(), &list, client.InNamespace(t.Namespace)))
	events := map[string][]eventsv1.Event{}
	for _, event := range list.Items {
		if event.Regarding.Kind != kind || event.Regarding.Name != name {
			continue
		}
		times := 1
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		for range times {
			events[event.Reason] = append(events[event.Reason], event)
		}
	}
	return events
}

// Tells waits until events of a reason were seen so many times, and returns them. More is an error.
func (t *Test) Tells(kind, name, reason string, times int) []eventsv1.Event {
	t.Helper()
	var events []eventsv1.Event
	t.Eventually(func() error {
		all := t.Told(kind, name)
		if events = all[reason]; len(events) < times {
			return fmt.Errorf("%s: %d events of reason %s, want %d: %s", name, len(events), reason, times, Text(all))
		}
		return nil
	})
	if len(events) > times {
		t.Errorf("%s: %d events of reason %s, want %d: %s", name, len(events), reason, times, Text(events))
	}
	return events
}

// Slices are the EndpointSlices of a Service, by name.
func (t *Test) Slices(service string) []discoveryv1.EndpointSlice {
	t.Helper()
	var list discoveryv1.EndpointSliceList
	t.Must(t.Client.List(t.Context(), &list, client.InNamespace(t.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}))
	slices.SortFunc(list.Items, func(a, b discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// Addresses are all those in the slices of a Service, ready or not, sorted.
func (t *Test) Addresses(service string) []string {
	t.Helper()
	var all []string
	for _, slice := range t.Slices(service) {
		for _, endpoint := range slice.Endpoints {
			all = append(all, endpoint.Addresses...)
		}
	}
	slices.Sort(all)
	return all
}
