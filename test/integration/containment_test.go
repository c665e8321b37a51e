// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// mistyped is a member of the spec of each kind, with what its type does not hold.
var mistyped = map[string]map[string]any{
	"ExternalService": {"ports": "secret"},
	"RebootPolicy":    {"targets": map[string]any{"secret": 1}},
	"ChaosPod":        {"target": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": "secret"}}}}, // which the schema takes
}

// faults are what is said of that.
var faults = map[string]string{
	"ExternalService": "spec.ports is a string", "RebootPolicy": "spec.targets is an object", "ChaosPod": "spec.target.template.spec.containers is a string",
}

// No JSON that is stored fails to convert; a bug might have it, or a version of which this operator knows
// nothing. Then the object is named, once for all replicas and however often it fails.
func TestAnObjectThatCannotBeConvertedIsNamedByAnEvent(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.publish("newer", database)
	object := s.view(externalServices, "v1", "newer")
	object.SetAPIVersion("networking.fairlead.dev/v9")
	review := framework.Text(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": map[string]any{
		"uid": "u", "desiredAPIVersion": "networking.fairlead.dev/v1alpha1", "objects": []any{object.Object},
	}})
	for range 20 {
		for _, replica := range s.Running() {
			code, answer := s.post(replica, "/convert", review)
			if code != http.StatusOK || !strings.Contains(answer, `"Failure"`) {
				s.Fatalf("%s returns %d %s", replica.ID, code, answer)
			}
		}
	}
	s.Eventually(func() error {
		found := s.events("ConversionFailed", externalServices, "newer")
		if len(found) == 0 || len(found) > 2 { // two where a window ended in between
			return fmt.Errorf("%d Events", len(found))
		}
		for _, event := range found {
			if event.Regarding.UID != object.GetUID() || event.Type != "Warning" || !strings.Contains(event.Note, "kubectl fairlead vet --live") ||
				strings.Contains(event.Note, "192.0.2.1") {
				s.Errorf("Event: %s", framework.Text(event))
			}
		}
		return nil
	})
}

// goesOn changes what was published, and publishes something new.
func (s *suite) goesOn(address string) {
	s.Helper()
	changed := strings.ReplaceAll(database, "192.0.2.1", address)
	s.publish("good", changed)
	s.publishes("good", address)
	s.publish("new-"+strings.ReplaceAll(address, ".", "-"), changed)
	s.run("patch", rebootPolicies.at("v1"), "good", "--type=merge", "-p", `{"spec":{"cooldown":"`+address[len(address)-1:]+`m"}}`)
	s.Eventually(func() error {
		object := s.view(rebootPolicies, "v1", "good")
		if observed, generation := field(object, "status.observedGeneration"), field(object, "metadata.generation"); observed != generation {
			return fmt.Errorf("RebootPolicy good: generation %s of %s is observed", observed, generation)
		}
		return nil
	})
}

// mend gives an object a good spec, as a user does.
func (s *suite) mend(k kind, name, good string) {
	s.Helper()
	s.run("patch", k.at("v1"), name, "--type=merge", "-p", framework.Text(map[string]any{"spec": parse(good)}))
}

// asStored is an object as etcd holds it.
func (s *suite) asStored(k kind, name string) map[string]any {
	s.Helper()
	object := s.view(k, "v1", name)
	object.SetResourceVersion("")
	return object.Object
}

// ruin has an object fit its type no more, past the API server.
func (s *suite) ruin(store *etcd, k kind, name string) {
	s.Helper()
	object := s.asStored(k, name)
	spoil(k, object)
	store.put(k, s.Namespace, name, object)
}

func spoil(k kind, object map[string]any) {
	for name, value := range mistyped[k.name] {
		spec(object)[name] = value
	}
}

// named waits until exactly these objects are named: each by a metric, an Event and one line of the log.
func (s *suite) named(replica *framework.Replica, token string, broken map[kind][]string) {
	s.Helper()
	s.Eventually(func() error {
		metrics := s.metrics(replica, token)
		for _, k := range kinds {
			want := float64(len(broken[k]))
			if got := metrics.Sum("fairlead_undecodable_objects", fmt.Sprintf("kind=%q", k.name)); got != want {
				return fmt.Errorf("%v broken objects of %s are counted, want %v", got, k.name, want)
			}
			for _, name := range broken[k] {
				if rows := metrics.Rows("fairlead_undecodable_object", fmt.Sprintf("kind=%q", k.name), fmt.Sprintf("namespace=%q", s.Namespace), fmt.Sprintf("name=%q", name)); len(rows) != 1 {
					return fmt.Errorf("metrics of %s %s: %q", k.name, name, rows)
				}
				if err := s.toldOnce(replica, k, name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// toldOnce looks for the Event and the line of the log. Two Events are right where a window ended in
// between.
func (s *suite) toldOnce(replica *framework.Replica, k kind, name string) error {
	object := s.view(k, "v1", name)
	found := s.events("Undecodable", k, name)
	if len(found) == 0 || len(found) > 2 {
		return fmt.Errorf("%d Events name %s %s", len(found), k.name, name)
	}
	for _, event := range found {
		if event.Regarding.UID != object.GetUID() || event.Type != "Warning" || !strings.Contains(event.Note, faults[k.name]) ||
			!strings.Contains(event.Note, "kubectl fairlead vet --live") || strings.Contains(event.Note, "secret") {
			s.Errorf("Event of %s %s: %s", k.name, name, framework.Text(event))
		}
	}
	log, err := os.ReadFile(replica.LogPath())
	if err != nil {
		return err
	}
	lines := 0
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte("stays unchanged until it is fixed")) && bytes.Contains(line, []byte(object.GetUID())) {
			lines++
		}
	}
	if lines != 1 {
		return fmt.Errorf("%d lines of the log name %s %s", lines, k.name, name)
	}
	return nil
}

// events are those of a reason about an object.
func (s *suite) events(reason string, k kind, name string) (found []eventsv1.Event) {
	s.Helper()
	var list eventsv1.EventList
	s.Must(json.Unmarshal([]byte(s.run("get", "events.v1.events.k8s.io", "-o", "json")), &list))
	for _, event := range list.Items {
		if event.Reason == reason && event.Regarding.Kind == k.name && event.Regarding.Name == name {
			found = append(found, event)
		}
	}
	return found
}

// readerToken is metricsToken on a cluster that ends with the test.
func (s *suite) readerToken() string {
	s.Helper()
	s.run("create", "serviceaccount", "reader")
	s.run("create", "clusterrolebinding", s.Namespace+"-reader", "--clusterrole=fairlead-metrics-reader", "--serviceaccount="+s.Namespace+":reader")
	return strings.TrimSpace(s.run("create", "token", "reader"))
}
