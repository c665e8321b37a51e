// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// share is a part of a spec that a manager sets, and sets otherwise: an optional field, an item of a list, a member of a set.
type share struct{ set, changed string }

// shared are, for each kind, a spec that several managers write. All is in the spelling of v1.
var shared = []struct {
	kind
	base   string // what an object cannot go without, and what shares are parts of
	beside string // what one manager sets all the time
	shares []share
}{
	{
		externalServices, `{ports: [{name: web, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {tcpSocket: {}}}`, `{suspend: true}`, []share{
			{`{deletionPolicy: Orphan}`, `{deletionPolicy: Delete}`},
			{`{service: {labels: {team: a}}}`, `{service: {labels: {team: b}}}`},
			{`{healthCheck: {interval: 20s}}`, `{healthCheck: {interval: 40s}}`},
			{`{failover: {failback: Manual}}`, `{failover: {failback: Automatic, failbackDelay: 7m}}`},
			{`{ports: [{name: web, targetPort: 81}]}`, `{ports: [{name: web, targetPort: 82}]}`},
			{`{endpoints: [{name: a, zone: east}]}`, `{endpoints: [{name: a, zone: west}]}`},
			{`{endpoints: [{name: a, addresses: [192.0.2.2]}]}`, `{endpoints: [{name: a, addresses: [192.0.2.3]}]}`},
			{`{endpoints: [{name: b, addresses: [192.0.2.4]}]}`, `{endpoints: [{name: b, addresses: [192.0.2.5]}]}`},
		},
	},
	{
		rebootPolicies, `{targets: [{kind: Deployment, name: web}], cooldown: 7m}`, `{dryRun: true}`, []share{
			{`{triggers: [{type: EndpointsChange, endpointsChange: {externalServiceName: db, events: [FailedBack]}}, {type: ConfigChange}]}`,
				`{triggers: [{type: EndpointsChange, endpointsChange: {externalServiceName: db, events: [Recovered]}}, {type: ConfigChange}]}`},
			{`{suspend: true}`, `{suspend: false}`},
			{`{verification: {soak: 1m}}`, `{verification: {soak: 3m}}`},
			{`{gates: [{type: NoPods, noPods: {selector: {matchLabels: {app: job}}}}]}`, `{gates: [{type: NoPods, noPods: {selector: {matchLabels: {app: other}}}}]}`},
			{`{windows: [{name: night, cron: "0 22 * * *", duration: 6h}]}`, `{windows: [{name: night, cron: "0 22 * * *", duration: 5h}]}`},
		},
	},
	{
		chaosPods, `{target: {template: {spec: {containers: [{name: c, image: nginx}]}}}, schedule: {interval: 1h}}`, `{dryRun: true}`, []share{
			{`{schedule: {at: "2126-01-01T00:00:00Z"}}`, `{schedule: {at: "2127-01-01T00:00:00Z"}}`},
			{`{schedule: {jitterPercent: 7}}`, `{schedule: {jitterPercent: 8}}`},
			{`{target: {template: {metadata: {labels: {app: canary}}}}}`, `{target: {template: {metadata: {labels: {app: other}}}}}`},
			{`{verification: {timeout: 3m}}`, `{verification: {timeout: 4m}}`},
			{`{windows: [{name: night, cron: "0 22 * * *", duration: 6h}]}`, `{windows: [{name: night, cron: "0 22 * * *", duration: 5h}]}`},
		},
	},
}

// spelled is a spec of v1 as a version spells it. What is said here of v1alpha1 is what users are told.
func spelled(version string, spec map[string]any) map[string]any {
	if version == "v1" {
		return spec
	}
	out := (&unstructured.Unstructured{Object: spec}).DeepCopy().Object
	for _, move := range [][2][]string{
		{{"healthCheck"}, {"probe"}}, {{"triggers"}, {"policies"}}, {{"target", "template"}, {"template"}}, {{"schedule", "at"}, {"nextStop"}},
	} {
		value, found, _ := unstructured.NestedFieldNoCopy(out, move[0]...)
		if !found {
			continue
		}
		unstructured.RemoveNestedField(out, move[0]...)
		if parent, _ := out[move[0][0]].(map[string]any); len(move[0]) > 1 && len(parent) == 0 {
			delete(out, move[0][0])
		}
		out[move[1][0]] = value
	}
	return out
}

// joined merges several specs as server-side apply does: list items with equal names are one.
func joined(specs ...string) map[string]any {
	var all any
	for _, spec := range specs {
		all = join(all, parse(spec))
	}
	object, _ := all.(map[string]any)
	return object
}

func join(one, other any) any {
	switch other := other.(type) {
	case map[string]any:
		all, _ := one.(map[string]any)
		if all == nil {
			return other
		}
		for name, value := range other {
			all[name] = join(all[name], value)
		}
		return all
	case []any:
		all, _ := one.([]any)
		for _, item := range other {
			all = joinItem(all, item)
		}
		return all
	}
	return other
}

func joinItem(all []any, item any) []any {
	named, _ := item.(map[string]any)
	for i, is := range all {
		if present, _ := is.(map[string]any); named["name"] != nil && present["name"] == named["name"] {
			all[i] = join(present, named)
			return all
		}
	}
	return append(all, item)
}

// made is an object, with a spec in the spelling of v1, or without any.
func (s *suite) made(k kind, version, name string, spec map[string]any) *unstructured.Unstructured {
	s.Helper()
	object := s.Objects(k.object(version, name, ""))[0]
	object.SetNamespace(s.Namespace)
	if spec != nil {
		object.Object["spec"] = spelled(version, spec)
	}
	return object
}

// ideal are the spec that an object has at both versions where no other field was ever set.
func (s *suite) ideal(k kind, specs ...string) map[string]any {
	s.Helper()
	views := map[string]any{}
	for _, version := range []string{"v1", "v1alpha1"} {
		object := s.made(k, version, "ideal", joined(specs...))
		s.Must(s.Client.Create(s.Context(), object, client.DryRunAll))
		views[version] = object.Object["spec"]
	}
	return views
}

// anyOrder compares lists as sets: the order of the items that several managers set is that of their writes.
var anyOrder = cmpopts.SortSlices(func(a, b any) bool { return framework.Text(a) < framework.Text(b) })

// same wants an object to have a spec at both versions.
func (s *suite) same(k kind, name, after string, want map[string]any) {
	s.Helper()
	for version, spec := range want {
		if diff := cmp.Diff(spec, s.view(k, version, name).Object["spec"], anyOrder); diff != "" {
			s.Errorf("%s %s at %s after %s (-want +got):\n%s", k.name, name, version, after, diff)
		}
	}
}

// manager is who applies to an object at one version, and never by force.
type manager struct {
	name, version string
	spec          map[string]any
}

func (s *suite) managed(k kind, name string, by manager) {
	s.Helper()
	object := s.made(k, by.version, name, by.spec)
	if err := s.Client.Patch(s.Context(), object, client.Apply, client.FieldOwner(by.name)); err != nil { //nolint:staticcheck // of unstructured objects
		s.Errorf("%s %s: %s at %s applies %s: %v", k.name, name, by.name, by.version, framework.Text(by.spec), err)
	}
}

// Three managers share an object: one at v1alpha1 who set the base or no more than a label, one at either version with some share,
// and another one at the other. What the second gives up is gone at both versions and does not come back, nothing else is
// lost, and who applies the same again changes nothing.
func TestManagersAtBothVersionsShareAnObject(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	sampler := framework.NewSampler(t)
	for _, o := range shared {
		never := s.ideal(o.kind, o.base, o.beside, `{historyLimit: 20}`)
		for i, part := range o.shares {
			set := s.ideal(o.kind, o.base, o.beside, `{historyLimit: 20}`, part.set)
			changed := s.ideal(o.kind, o.base, o.beside, `{historyLimit: 20}`, part.changed)
			for _, form := range framework.Sample(sampler, 2, []string{"label-v1", "label-v1alpha1", "base-v1", "base-v1alpha1"}) {
				first, version, _ := strings.Cut(form, "-")
				other := map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[version]
				base := map[string]string{"label": o.base, "base": "{}"}[first]
				name := fmt.Sprintf("%s-%d", form, i)
				holder := func(share string) manager {
					return manager{"holder", version, joined(base, `{historyLimit: 20}`, share)}
				}
				old, beside := manager{"old-team", "v1alpha1", joined(o.base)}, manager{"beside", other, joined(o.beside)}
				if first == "base" {
					s.managed(o.kind, name, old)
				}
				s.managed(o.kind, name, holder(part.set))
				if first == "label" {
					s.run("label", o.at("v1alpha1"), name, "touched=yes")
				}
				s.managed(o.kind, name, beside)
				s.same(o.kind, name, "it was set", set)

				again := func(after string, want map[string]any, all ...manager) {
					s.Helper()
					if first == "base" {
						all = append(all, old)
					}
					s.unmoved(o.kind, name, after, append(all, beside))
					s.same(o.kind, name, after, want)
				}
				again("all applied again", set, holder(part.set))
				s.managed(o.kind, name, holder("{}"))
				s.same(o.kind, name, "it was given up", never)
				again("it was given up and all applied again", never, holder("{}"))
				s.managed(o.kind, name, holder(part.set))
				s.managed(o.kind, name, holder(part.changed))
				s.same(o.kind, name, "it was changed", changed)
				again("it was changed and the others applied again", changed)
				s.managed(o.kind, name, holder("{}"))
				again("it was changed, given up, and all applied again", never, holder("{}"))
			}
		}
	}
}

// unmoved has managers apply what they applied before, which leaves the spec as it is to the byte, and the generation.
func (s *suite) unmoved(k kind, name, when string, all []manager) {
	s.Helper()
	before := s.view(k, "v1", name)
	for _, by := range all {
		s.managed(k, name, by)
		if after := s.view(k, "v1", name); field(before, "spec") != field(after, "spec") || before.GetGeneration() != after.GetGeneration() {
			s.Errorf("%s %s, when %s: %s applies the same again, and generation %d becomes %d:\n%s\n%s",
				k.name, name, when, by.name, before.GetGeneration(), after.GetGeneration(), field(before, "spec"), field(after, "spec"))
		}
	}
}

// What kubectl sets at a version it takes away at that version, in all of its ways, though another user labels the object at the
// other version.
func TestKubectlTakesAwayWhatItSetAtEitherVersion(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	sampler := framework.NewSampler(t)
	ways := map[string]func(k kind, version, name string, with, without map[string]any){
		"apply": func(k kind, version, name string, with, without map[string]any) {
			s.twice(k, version, name, with)
			s.twice(k, version, name, without)
		},
		"server-side": func(k kind, version, name string, with, without map[string]any) {
			s.twice(k, version, name, with, "--server-side")
			s.twice(k, version, name, without, "--server-side")
		},
		"patch": func(k kind, version, name string, with, without map[string]any) {
			patch := mergePatch(spelled(version, with), spelled(version, without))
			s.run("create", "-f", "-", "--", framework.Text(s.made(k, version, name, with).Object))
			s.labeled(k, version, name)
			s.run("patch", k.at(version), name, "--type=merge", "-p", framework.Text(map[string]any{"spec": patch}))
		},
		"replace": func(k kind, version, name string, with, without map[string]any) {
			s.run("create", "-f", "-", "--", framework.Text(s.made(k, version, name, with).Object))
			s.labeled(k, version, name)
			s.run("replace", "-f", "-", "--", framework.Text(s.made(k, version, name, without).Object))
		},
	}
	for _, o := range shared {
		want := s.ideal(o.kind, o.base, `{historyLimit: 20}`)
		for way, take := range ways {
			for _, version := range []string{"v1", "v1alpha1"} {
				for i, part := range framework.Sample(sampler, 1, o.shares) {
					name := fmt.Sprintf("%s-%s-%d", way, version, i)
					take(o.kind, version, name, joined(o.base, `{historyLimit: 20}`, part.set), joined(o.base, `{historyLimit: 20}`))
					s.same(o.kind, name, way+" of the object without "+part.set, want)
				}
			}
		}
	}
}

// twice applies a spec, has another user label the object at the other version, and applies the same again.
func (s *suite) twice(k kind, version, name string, spec map[string]any, how ...string) {
	s.Helper()
	manifest := framework.Text(s.made(k, version, name, spec).Object)
	s.apply(manifest, how...)
	s.labeled(k, version, name)
	before := s.view(k, "v1", name)
	s.apply(manifest, how...)
	if after := s.view(k, "v1", name); field(before, "spec") != field(after, "spec") || before.GetGeneration() != after.GetGeneration() {
		s.Errorf("%s %s: kubectl apply of the same at %s wrote something:\n%s\n%s", k.name, name, version, field(before, "spec"), field(after, "spec"))
	}
}

// labeled has kubectl label an object at the version at which it is not written.
func (s *suite) labeled(k kind, written, name string) {
	s.Helper()
	s.run("label", k.at(map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[written]), name, "--overwrite", "touched=yes")
}

// mergePatch is the merge patch that makes one object of another.
func mergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for name, was := range from {
		is, stays := to[name]
		one, both := was.(map[string]any)
		other, also := is.(map[string]any)
		switch {
		case !stays:
			patch[name] = nil
		case both && also:
			patch[name] = mergePatch(one, other)
		default:
			patch[name] = is
		}
	}
	return patch
}

// The editor is that of the whole process.
func TestKubectlEditTakesAwayALineAtEitherVersion(t *testing.T) {
	s := newSuite(t)
	t.Setenv("KUBE_EDITOR", "sed -i.bak -e /deletionPolicy:/d -e /suspend:/d -e /2126-/d")
	for i, o := range shared {
		part := []string{`{deletionPolicy: Orphan}`, `{suspend: true}`, `{schedule: {at: "2126-01-01T00:00:00Z"}}`}[i]
		want := s.ideal(o.kind, o.base)
		for _, version := range []string{"v1", "v1alpha1"} {
			s.run("create", "-f", "-", "--", framework.Text(s.made(o.kind, version, version, joined(o.base, part)).Object))
			s.labeled(o.kind, version, version)
			s.run("edit", o.at(version), version)
			s.same(o.kind, version, "kubectl edit", want)
		}
	}
}

// A user of the example of controller-runtime applies the object that it has.
func TestTheChaosPodOfControllerRuntimeAppliesAsItIs(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	manifest := chaosPods.object("v1alpha1", "example", `{template: {metadata: {creationTimestamp: null, labels: {app: canary}}, spec: {containers: [{name: c, image: nginx, resources: {}}]}},
  nextStop: "2126-01-01T00:00:00Z"}`)
	s.apply(manifest)
	before := s.view(chaosPods, "v1", "example")
	s.apply(manifest)
	after := s.view(chaosPods, "v1", "example")
	if field(before, "spec") != field(after, "spec") || before.GetGeneration() != after.GetGeneration() {
		t.Errorf("applying it again wrote something:\n%s\n%s", field(before, "spec"), field(after, "spec"))
	}
	s.sameField(after, "spec.schedule.at", `"2126-01-01T00:00:00Z"`)
	s.sameField(after, "spec.dryRun", "false")
	s.sameField(s.view(chaosPods, "v1alpha1", "example"), "spec.nextStop", `"2126-01-01T00:00:00Z"`)
	if interval := field(after, "spec.schedule.interval"); interval != "" {
		t.Errorf("it is killed every %s as well", interval)
	}
}
