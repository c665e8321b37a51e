// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// change sets the value at a path; see edit.
type change struct {
	path  string
	value any
}

// In testdata/full.v1.yaml the Probe triggers stand at 2, 6, 7 and 8 of 9.
func TestEditOfTheViewKeepsTheRestOfTheHub(t *testing.T) {
	newPolicy := object{"name": "new", "trigger": object{"probe": object{"tcpSocket": object{"port": int64(81)}}}}
	for _, c := range []struct {
		name string
		edit []change
		want []change // what differs from the hub then; all else is as it was
	}{
		{"a comment", []change{{"spec.policies.0.comment", "new"}}, []change{{"spec.triggers.2.description", "new"}}},
		{"a name", []change{{"spec.policies.3.name", "cmd"}}, []change{{"spec.triggers.8.name", "cmd"}}},
		{"a path", []change{{"spec.policies.0.trigger.probe.httpGet.path", "/z"}}, []change{{"spec.triggers.2.probe.httpGet.path", "/z"}}},
		{"a period", []change{{"spec.policies.0.trigger.probe.periodSeconds", int64(45)}}, []change{{"spec.triggers.2.probe.interval", "45s"}}},
		{"a port beside a host that the view does not show", []change{{"spec.policies.2.trigger.probe.grpc.port", int64(9001)}},
			[]change{{"spec.triggers.7.probe.grpc.port", int64(9001)}}},
		{"a threshold beside half a second that the view rounds", []change{{"spec.policies.2.trigger.probe.failureThreshold", int64(9)}},
			[]change{{"spec.triggers.7.probe.failureThreshold", int64(9)}}},
		{"another handler", []change{{"spec.policies.1.trigger.probe.tcpSocket", nil}, {"spec.policies.1.trigger.probe.grpc", object{"port": int64(1)}}},
			[]change{{"spec.triggers.6.probe.tcpSocket", nil}, {"spec.triggers.6.probe.host", nil}, {"spec.triggers.6.probe.grpc", object{"port": int64(1)}}}},
		{"the target's name", []change{{"spec.target.name", "other"}}, []change{{"spec.targets.0.name", "other"}}},
		{"the target's kind", []change{{"spec.target.kind", "DaemonSet"}}, []change{{"spec.targets.0.kind", "DaemonSet"}}},
		{"a policy removed", []change{{"spec.policies.1", nil}}, []change{{"spec.triggers.6", nil}}},
		{"a policy added", []change{{"spec.policies.4", newPolicy}}, []change{{"spec.triggers.9", object{
			"name": "new", "type": "Probe", "probe": object{"tcpSocket": object{"port": int64(81)}}}}}},
		{"the status", []change{{"status.lastReboot", "2026-04-01T00:00:00Z"}}, []change{{"status.lastRestartTime", "2026-04-01T00:00:00Z"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A hub that has been stored has all its defaults.
			hub := defaulted(t, load(t, "testdata/full.v1.yaml"))
			view := convert(t, hub, "v1alpha1")
			want := hub
			for _, e := range c.edit {
				view = edit(t, view, e.path, e.value)
			}
			for _, w := range c.want {
				want = edit(t, want, w.path, w.value)
			}
			got := convert(t, view, "v1")
			same(t, "hub", got, want)
			again := unannotated(t, convert(t, got, "v1alpha1"))
			same(t, "the view again", edit(t, again, "status.v1", nil), edit(t, unannotated(t, view), "status.v1", nil))
		})
	}
}

// defaulted is what the admission webhook makes of a hub.
func defaulted(t *testing.T, raw []byte) []byte {
	t.Helper()
	for _, path := range []string{"6", "7", "8"} {
		for field, value := range map[string]any{"interval": "30s", "timeout": "5s", "failureThreshold": int64(5), "successThreshold": int64(1), "minUnhealthy": "50%"} {
			if at(t, raw, "spec.triggers."+path+".probe."+field) == nil {
				raw = edit(t, raw, "spec.triggers."+path+".probe."+field, value)
			}
		}
	}
	return edit(t, raw, "spec.triggers.0.configChange.sources.1.optional", false)
}

func unannotated(t *testing.T, raw []byte) []byte {
	t.Helper()
	return edit(t, raw, "metadata.annotations", nil)
}

func TestEditOfPoliciesKeepsOtherTriggersInTheirPlaces(t *testing.T) {
	for _, c := range []struct{ name, hub, policies, want string }{
		{"untouched", "A b C", "A C", "A b C"},
		{"reordered", "A b C", "C A", "C b A"},
		{"renamed", "A b C", "X C", "X b C"},
		{"all renamed", "A b C d", "X Y", "X b Y d"},
		{"first removed", "A b C", "C", "b C"},
		{"last removed", "A b C d", "A", "A b d"},
		{"all removed", "A b C", "", "b"},
		{"added at the end", "A b C d", "A C E", "A b C d E"},
		{"added between", "A b C d", "A E C", "A b E C d"},
		{"added to none", "b d", "E", "b d E"},
		{"replaced by more", "A b", "E F", "b E F"},
	} {
		t.Run(c.name, func(t *testing.T) {
			view := convert(t, triggersOf(t, c.hub), "v1alpha1")
			var policies []any
			for _, name := range strings.Fields(c.policies) {
				policies = append(policies, object{"name": strings.ToLower(name), "trigger": object{"probe": object{"tcpSocket": object{"port": int64(name[0])}}}})
			}
			got := convert(t, edit(t, view, "spec.policies", policies), "v1")
			want := convert(t, triggersOf(t, c.want), "v1")
			if diff := cmp.Diff(names(t, want), names(t, got)); diff != "" {
				t.Errorf("triggers (-want +got)\n%s", diff)
			}
		})
	}
}

// triggersOf makes a hub with a trigger for each letter: Probes in capitals.
func triggersOf(t *testing.T, letters string) []byte {
	t.Helper()
	var triggers []any
	for _, name := range strings.Fields(letters) {
		trigger := object{"name": strings.ToLower(name), "type": "ConfigChange", "configChange": object{}}
		if name[0] < 'a' {
			trigger = object{"name": strings.ToLower(name), "type": "Probe", "probe": object{"tcpSocket": object{"port": int64(name[0])}}}
		}
		triggers = append(triggers, trigger)
	}
	return bytesOf(t, object{"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "RebootPolicy", "metadata": object{"name": "x"},
		"spec": object{"targets": []any{object{"kind": "Deployment", "name": "x"}}, "triggers": triggers}})
}

func names(t *testing.T, raw []byte) []string {
	t.Helper()
	var out []string
	triggers, _ := at(t, raw, "spec.triggers").([]any)
	for _, trigger := range triggers {
		out = append(out, trigger.(object)["name"].(string)+" "+trigger.(object)["type"].(string))
	}
	return out
}

func TestSelectorGivesWayToANameThatTheViewIsGiven(t *testing.T) {
	hub := edit(t, load(t, "testdata/plain.v1.yaml"), "spec.targets.0",
		object{"kind": "Deployment", "wave": int64(3), "selector": object{"matchLabels": object{"a": "b"}}})
	view := convert(t, hub, "v1alpha1")
	same(t, "unedited", convert(t, view, "v1"), hub)
	kind := convert(t, edit(t, view, "spec.target.kind", "DaemonSet"), "v1")
	same(t, "another kind", kind, edit(t, hub, "spec.targets.0.kind", "DaemonSet"))
	name := convert(t, edit(t, view, "spec.target.name", "api"), "v1")
	same(t, "a name", name, edit(t, hub, "spec.targets.0", object{"kind": "Deployment", "wave": int64(3), "name": "api"}))
}

func TestASelectorOfEveryKindOutlivesAnEditOfItsView(t *testing.T) {
	hub := edit(t, load(t, "testdata/plain.v1.yaml"), "spec.targets", []any{object{"selector": object{}, "wave": int64(2)}})
	view := convert(t, hub, "v1alpha1")
	same(t, "back", convert(t, view, "v1"), hub)
	edited := convert(t, edit(t, view, "spec.policies.0.comment", "new"), "v1")
	same(t, "edited", edited, edit(t, hub, "spec.triggers.0.description", "new"))
	named := convert(t, edit(t, view, "spec.target", object{"kind": "Deployment", "name": "web"}), "v1")
	same(t, "named", named, edit(t, hub, "spec.targets", []any{object{"kind": "Deployment", "name": "web", "wave": int64(2)}}))
}

func TestEditOfTheHubKeepsWhatOnlyTheViewCanSay(t *testing.T) {
	for _, c := range []struct {
		name string
		edit []change
		want []change
	}{
		{"a description", []change{{"spec.triggers.0.description", "new"}}, []change{{"spec.policies.0.comment", "new"}}},
		{"a threshold", []change{{"spec.triggers.0.probe.failureThreshold", int64(9)}},
			[]change{{"spec.policies.0.trigger.probe.failureThreshold", int64(9)}}},
		{"a name", []change{{"spec.triggers.0.name", "stuck"}}, []change{{"spec.policies.0.name", "stuck"}}},
		{"a number for the named port", []change{{"spec.triggers.0.probe.httpGet.port", int64(8080)}},
			[]change{{"spec.policies.0.trigger.probe.httpGet.port", int64(8080)}}},
		{"the target's name", []change{{"spec.targets.0.name", "other"}}, []change{{"spec.target.name", "other"}}},
		{"a trigger removed", []change{{"spec.triggers.0", nil}}, []change{{"spec.policies.0", nil}}},
		{"what the view does not show", []change{{"spec.cooldown", "1h"}, {"spec.triggers.0.probe.minUnhealthy", int64(2)}}, nil},
		{"the status", []change{{"status.lastRestartTime", "2026-04-01T00:00:00Z"}}, []change{{"status.lastReboot", "2026-04-01T00:00:00Z"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			view := load(t, "testdata/own-fields.v1alpha1.yaml")
			hub := convert(t, view, "v1")
			want := view
			for _, e := range c.edit {
				hub = edit(t, hub, e.path, e.value)
			}
			for _, w := range c.want {
				want = edit(t, want, w.path, w.value)
			}
			got := convert(t, hub, "v1alpha1")
			// Where a part was edited, its defaults stand explicitly beside what was written.
			again, wanted := spelledOut(t, got), spelledOut(t, want)
			same(t, "view", again, wanted)
			back := unannotated(t, convert(t, got, "v1"))
			same(t, "the hub again", edit(t, back, "status.v1alpha1", nil), edit(t, unannotated(t, hub), "status.v1alpha1", nil))
		})
	}
}

// spelledOut fills in the defaults of every policy, and leaves out the annotation and empty lists.
func spelledOut(t *testing.T, view []byte) []byte {
	t.Helper()
	view = unannotated(t, view)
	for i := 0; at(t, view, "spec.policies."+string(rune('0'+i))) != nil; i++ {
		probe := "spec.policies." + string(rune('0'+i)) + ".trigger.probe."
		for field, value := range map[string]any{"periodSeconds": int64(30), "timeoutSeconds": int64(5), "failureThreshold": int64(5), "successThreshold": int64(1)} {
			if at(t, view, probe+field) == nil {
				view = edit(t, view, probe+field, value)
			}
		}
		if at(t, view, probe+"httpGet") != nil {
			view = edit(t, view, probe+"httpGet.scheme", "HTTP")
		}
	}
	if conditions, _ := at(t, view, "status.conditions").([]any); len(conditions) == 0 {
		view = edit(t, view, "status.conditions", nil)
	}
	return view
}
