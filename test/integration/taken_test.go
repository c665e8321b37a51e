// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// whole are specs at v1alpha1 with many optional fields among them, and what another manager sets at v1 beside them.
var whole = []struct {
	kind  kind
	specs []string
	other string
}{
	{externalServices, []string{
		`{suspend: true, ports: [{name: web, port: 80, targetPort: 81, protocol: TCP, appProtocol: http}], endpoints: [{name: a, dns: {name: db.example.com, recordType: Address}, zone: z, ports: [{name: web, port: 82}]},
  {name: b, addresses: [192.0.2.10], state: Drained}], resolution: {minTTL: 61s, maxTTL: 62s, onFailure: Remove, keepLastFor: 2h},
  probe: {tcpSocket: {port: 80}, interval: 33s, timeout: 5s, successThreshold: 7, failureThreshold: 8, unhealthyInterval: 3m, jitterPercent: 7}, failover: {minHealthyPercent: 3, failback: Manual, failbackDelay: 7m}}`,
		`{ports: [{name: web, port: 80}], endpoints: [{name: a, addresses: [192.0.2.10]}], service: {type: Headless, labels: {team: a}}, historyLimit: 7,
  probe: {httpGet: {port: 80, path: /zz, host: a.example.com, scheme: HTTPS, httpHeaders: [{name: X, value: v}], expectedStatuses: [{start: 200, end: 204}]}}}`,
	}, `{deletionPolicy: Orphan}`},
	{rebootPolicies, []string{
		`{targets: [{kind: Deployment, name: web, wave: 3}], cooldown: 7m, suspend: true, dryRun: true, policies: [{name: a, type: Probe, description: c, probe: {
  httpGet: {port: 80, path: /zz, host: a.example.com, scheme: HTTPS, httpHeaders: [{name: X, value: v}], expectedStatuses: [{start: 200, end: 204}]},
  interval: 33s, timeout: 4s, failureThreshold: 9, successThreshold: 2, minUnhealthy: 70%}}], windows: [{name: night, cron: "0 22 * * *", duration: 6h, timeZone: Europe/Zurich}], limit: {maxRestarts: 3, within: 7h}}`,
	}, `{historyLimit: 5}`},
	{chaosPods, []string{
		`{template: {metadata: {labels: {app: canary}}, spec: {containers: [{name: c, image: nginx}]}}, nextStop: "2126-01-01T00:00:00Z", schedule: {interval: 3m, jitterPercent: 7, startingDeadline: 2m}, action: {type: Delete, gracePeriodSeconds: 3}}`,
	}, `{verification: {timeout: 3m}}`},
}

// needed are optional fields that an object cannot go without.
var needed = []string{"probe.tcpSocket", "probe.httpGet", "tcpSocket.port", "httpGet.port", "probe", "policies", "cooldown", "kind", "name", "dns", "addresses", "template"}

// A field that is taken back at v1alpha1 is gone at v1, as if it had never been there, however it is taken.
func TestAFieldThatIsTakenBackAtV1alpha1IsGoneAtV1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	sampler, made := framework.NewSampler(t), 0
	for _, w := range whole {
		optional := s.optional(w.kind, "v1alpha1")
		for _, text := range w.specs {
			spec, _ := parse(text).(map[string]any)
			for _, path := range slices.Sorted(maps.Keys(optional)) {
				without, had := less(spec, strings.Split(path, "."))
				if !had {
					continue
				}
				if slices.ContainsFunc(needed, func(suffix string) bool { return strings.HasSuffix("."+path, "."+suffix) }) {
					continue
				}
				takings := s.takings(w.kind, w.other)
				for _, way := range framework.Sample(sampler, 1, slices.Sorted(maps.Keys(takings))) {
					made++
					name := fmt.Sprintf("o-%d", made)
					takings[way](name+"-was", spec, without)
					takings[way](name+"-new", without, without)
					taken, never := s.view(w.kind, "v1", name+"-was"), s.view(w.kind, "v1", name+"-new")
					if diff := cmp.Diff(never.Object["spec"], taken.Object["spec"]); diff != "" {
						t.Errorf("%s: spec.%s, taken back by %s (-never there +taken back):\n%s", w.kind.name, path, way, diff)
					}
				}
			}
		}
	}
}

// A field that is taken back at v1 is gone at both versions, as if it had never been there, also of an object
// that was written at v1alpha1.
func TestAFieldThatIsTakenBackAtV1IsGoneAtV1alpha1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	sampler, made, compared := framework.NewSampler(t), 0, 0
	takings := map[string]func(o, without *unstructured.Unstructured) error{
		"merge": func(o, without *unstructured.Unstructured) error {
			with, _ := o.Object["spec"].(map[string]any)
			less, _ := without.Object["spec"].(map[string]any)
			return s.Client.Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(framework.Text(map[string]any{"spec": mergePatch(with, less)}))))
		},
		// The manifest is converted first, and edited in a second step: a manager that leaves v1alpha1 and
		// takes back a field at once owns no field of v1 that could be taken away.
		"apply": func(o, without *unstructured.Unstructured) error {
			with := without.DeepCopy()
			with.Object["spec"] = o.Object["spec"]
			s.Must(s.Client.Patch(s.Context(), with, client.Apply, client.FieldOwner("one"), client.ForceOwnership))              //nolint:staticcheck // of unstructured objects
			return s.Client.Patch(s.Context(), without.DeepCopy(), client.Apply, client.FieldOwner("one"), client.ForceOwnership) //nolint:staticcheck // of unstructured objects
		},
	}
	for i, w := range whole {
		seen := map[string]bool{}
		optional := slices.Sorted(maps.Keys(s.optional(w.kind, "v1")))
		for j, spec := range w.specs {
			all, _ := s.madeAtV1alpha1(w.kind, fmt.Sprintf("all-%d-%d", i, j), spec).Object["spec"].(map[string]any)
			for _, path := range optional {
				if _, had := less(all, strings.Split(path, ".")); !had || seen[path] {
					continue
				}
				seen[path] = true
				for _, way := range framework.Sample(sampler, 1, slices.Sorted(maps.Keys(takings))) {
					if way == "apply" && path == "healthCheck.tcpSocket.port" {
						continue // server-side apply takes the map away with its only member
					}
					made++
					if s.takenAtV1(w.kind, fmt.Sprintf("o-%d", made), spec, path, way, takings[way]) {
						compared++
					}
				}
			}
		}
	}
	t.Logf("%d of %d objects were compared, the others refused without the field", compared, made)
	if compared < made/2 {
		t.Errorf("of %d objects, %d were compared", made, compared)
	}
}

// takenAtV1 makes an object at v1alpha1, takes a field back at v1, and compares it with an object that never had
// it. It says whether there was anything to compare.
func (s *suite) takenAtV1(k kind, name, spec, path, way string, take func(o, without *unstructured.Unstructured) error) bool {
	s.Helper()
	o := s.madeAtV1alpha1(k, name+"-was", spec)
	with, _ := o.Object["spec"].(map[string]any)
	less, _ := less(with, strings.Split(path, "."))
	bare := func(name string) *unstructured.Unstructured {
		bare := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "spec": less}}
		bare.SetName(name)
		bare.SetNamespace(s.Namespace)
		bare.SetAnnotations(o.GetAnnotations())
		return bare.DeepCopy()
	}
	never := s.Client.Create(s.Context(), bare(name+"-new"))
	taken := take(o.DeepCopy(), bare(name+"-was"))
	if (never == nil) != (taken == nil) {
		s.Errorf("%s: spec.%s: an object without it: %v; taken back by %s: %v", k.name, path, never, way, taken)
	}
	if never != nil || taken != nil {
		return false
	}
	for _, version := range []string{"v1", "v1alpha1"} {
		if diff := cmp.Diff(s.view(k, version, name+"-new").Object["spec"], s.view(k, version, name+"-was").Object["spec"]); diff != "" {
			s.Errorf("%s: spec.%s, taken back at v1 by %s, at %s (-never there +taken back):\n%s", k.name, path, way, version, diff)
		}
	}
	return true
}

// madeAtV1alpha1 returns an object at v1 that was applied at v1alpha1.
func (s *suite) madeAtV1alpha1(k kind, name, spec string) *unstructured.Unstructured {
	s.Helper()
	o := &unstructured.Unstructured{}
	s.Must(json.Unmarshal([]byte(k.object("v1alpha1", name, spec)), &o.Object))
	o.SetNamespace(s.Namespace)
	s.Must(s.Client.Patch(s.Context(), o, client.Apply, client.FieldOwner("one"), client.ForceOwnership)) //nolint:staticcheck // of unstructured objects
	return s.view(k, "v1", name)
}

// takings are the ways to write an object and then write it otherwise.
func (s *suite) takings(k kind, other string) map[string]func(name string, with, without map[string]any) {
	object := func(version, name string, spec any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		s.Must(json.Unmarshal([]byte(k.object(version, name, framework.Text(spec))), &o.Object))
		o.SetNamespace(s.Namespace)
		return o
	}
	applied := func(o *unstructured.Unstructured, manager string) {
		s.Helper()
		s.Must(s.Client.Patch(s.Context(), o, client.Apply, client.FieldOwner(manager), client.ForceOwnership)) //nolint:staticcheck // of unstructured objects
	}
	return map[string]func(name string, with, without map[string]any){
		"apply": func(name string, with, without map[string]any) {
			applied(object("v1alpha1", name, with), "one")
			applied(object("v1alpha1", name, without), "one")
		},
		"apply-beside": func(name string, with, without map[string]any) {
			applied(object("v1alpha1", name, with), "one")
			applied(object("v1", name, parse(other)), "other")
			applied(object("v1alpha1", name, without), "one")
		},
		// What kubectl apply does: it keeps what it applied in an annotation, and sends the difference of three.
		"client-side": func(name string, with, without map[string]any) {
			applied := func(spec map[string]any) (o *unstructured.Unstructured, original []byte) {
				original = []byte(framework.Text(object("v1alpha1", name, spec).Object))
				o = object("v1alpha1", name, spec)
				o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(original)})
				return o, original
			}
			first, original := applied(with)
			s.Must(s.Client.Create(s.Context(), first))
			second, _ := applied(without)
			current := framework.Text(s.view(k, "v1alpha1", name).Object)
			patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, []byte(framework.Text(second.Object)), []byte(current))
			s.Must(err)
			s.Must(s.Client.Patch(s.Context(), second, client.RawPatch(types.MergePatchType, patch)))
		},
		"merge": func(name string, with, without map[string]any) {
			s.Must(s.Client.Create(s.Context(), object("v1alpha1", name, with)))
			s.Must(s.Client.Patch(s.Context(), object("v1alpha1", name, without), client.RawPatch(types.MergePatchType,
				[]byte(framework.Text(map[string]any{"spec": mergePatch(with, without)})))))
		},
		"replace": func(name string, with, without map[string]any) {
			s.Must(s.Client.Create(s.Context(), object("v1alpha1", name, with)))
			s.Eventually(func() error {
				o := s.view(k, "v1alpha1", name)
				o.Object["spec"] = object("v1alpha1", name, without).Object["spec"]
				return s.Client.Update(s.Context(), o)
			})
		},
	}
}

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

// optional are the paths below spec that the schema of a version does not require, "[]" for an item of a list.
// A pod template is the API server's own.
func (s *suite) optional(k kind, version string) map[string]bool {
	s.Helper()
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	s.Must(json.Unmarshal([]byte(s.run("get", "customresourcedefinition", k.definition(), "-o", "json")), &definition))
	found := map[string]bool{}
	for _, served := range definition.Spec.Versions {
		if served.Name == version {
			properties, is := served.Schema.OpenAPIV3Schema["properties"].(map[string]any)
			if !is {
				s.Fatalf("the schema of %s at %s has no properties", k.name, version)
			}
			spec, is := properties["spec"].(map[string]any)
			if !is {
				s.Fatalf("the schema of %s at %s has no spec", k.name, version)
			}
			optionalOf(spec, "", found)
		}
	}
	return found
}

func optionalOf(schema map[string]any, path string, found map[string]bool) {
	if items, is := schema["items"].(map[string]any); is {
		optionalOf(items, path+".[]", found)
		return
	}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		below := strings.TrimPrefix(path+"."+name, ".")
		if !slices.Contains(required, any(name)) {
			found[below] = true
		}
		if property, is := property.(map[string]any); is && name != "template" {
			optionalOf(property, below, found)
		}
	}
}

// less is an object without what stands at a path, in each item of a list.
func less(o map[string]any, path []string) (map[string]any, bool) {
	out := maps.Clone(o)
	value, has := o[path[0]]
	if !has {
		return o, false
	}
	if len(path) == 1 {
		delete(out, path[0])
		return out, true
	}
	switch value := value.(type) {
	case map[string]any:
		out[path[0]], has = less(value, path[1:])
	case []any:
		list := make([]any, len(value))
		has = false
		for i, item := range value {
			list[i] = item
			if object, is := item.(map[string]any); is && len(path) > 2 {
				lessItem, had := less(object, path[2:])
				list[i], has = lessItem, has || had
			}
		}
		out[path[0]] = list
	default:
		return o, false
	}
	return out, has
}

// What a manager at v1 gives up is gone, also where another one wrote at v1alpha1, be it a label alone; and what a manager
// at v1alpha1 owns stays.
func TestWhatIsGivenUpAtV1IsGoneBesideAManagerAtV1alpha1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	apply := func(k kind, version, name, spec, manager string) {
		s.Helper()
		o := &unstructured.Unstructured{}
		s.Must(json.Unmarshal([]byte(k.object(version, name, spec)), &o.Object))
		o.SetNamespace(s.Namespace)
		s.Must(s.Client.Patch(s.Context(), o, client.Apply, client.FieldOwner(manager), client.ForceOwnership)) //nolint:staticcheck // of unstructured objects
	}
	for _, c := range []struct {
		kind
		alpha       string // of the manager at v1alpha1; "" where it writes a label alone
		full, less  string // of the manager at v1
		path, never string // what full has and less has not, and what it is then
	}{
		{externalServices, "", `{PORTS, ENDPOINTS, deletionPolicy: Orphan, historyLimit: 20}`, `{PORTS, ENDPOINTS, historyLimit: 20}`, "spec.deletionPolicy", "Delete"},
		{externalServices, `{PORTS, ENDPOINTS, probe: {tcpSocket: {}}}`, `{deletionPolicy: Orphan, historyLimit: 20}`, `{historyLimit: 20}`, "spec.deletionPolicy", "Delete"},
		{externalServices, `{PORTS, ENDPOINTS}`, `{endpoints: [{name: a, zone: z}]}`, `{suspend: true}`, "spec.endpoints", `[{name: a, addresses: [192.0.2.1]}]`},
		{externalServices, "", `{PORTS, endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}, {name: b, addresses: [192.0.2.3]}]}`, `{PORTS, ENDPOINTS}`, "spec.endpoints", `[{name: a, addresses: [192.0.2.1]}]`},
		{externalServices, "", `{PORTS, ENDPOINTS, healthCheck: {tcpSocket: {}, interval: 20s}}`, `{PORTS, ENDPOINTS}`, "spec.healthCheck", `null`},
		{rebootPolicies, "", `{TARGETS, cooldown: 7m, suspend: true}`, `{TARGETS, cooldown: 7m}`, "spec.suspend", "false"},
		{rebootPolicies, `{TARGETS, cooldown: 7m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`, `{triggers: [{name: up, description: why}], historyLimit: 20}`, `{historyLimit: 20}`,
			"spec.triggers", `[{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]`},
		{chaosPods, "", `{WORKLOAD, schedule: {interval: 1h, at: "2126-01-01T00:00:00Z"}}`, `{WORKLOAD, schedule: {interval: 1h}}`, "spec.schedule.at", "null"},
		{chaosPods, `{TEMPLATE}`, `{schedule: {at: "2126-01-01T00:00:00Z"}, count: 1}`, `{count: 1}`, "spec.schedule.at", "null"},
	} {
		full := strings.NewReplacer("PORTS", "ports: [{name: web, port: 80}]", "ENDPOINTS", "endpoints: [{name: a, addresses: [192.0.2.1]}]", "TARGETS", "targets: [{kind: Deployment, name: web}]",
			"WORKLOAD", "target: {workload: {kind: Deployment, name: web}}", "TEMPLATE", "template: {spec: {containers: [{name: c, image: nginx}]}}, schedule: {interval: 1h}")
		name := strings.ToLower(c.path[5:]) + fmt.Sprint(len(c.full), len(c.alpha))
		name = strings.NewReplacer(".", "-", " ", "-").Replace(name)
		if c.alpha != "" {
			apply(c.kind, "v1alpha1", name, full.Replace(c.alpha), "old-team")
		}
		apply(c.kind, "v1", name, full.Replace(c.full), "new-team")
		s.run("label", c.at("v1alpha1"), name, "touched=yes")
		if c.alpha != "" {
			apply(c.kind, "v1alpha1", name, full.Replace(c.alpha), "old-team")
		}
		before := s.view(c.kind, "v1", name)
		apply(c.kind, "v1", name, full.Replace(c.full), "new-team")
		after := s.view(c.kind, "v1", name)
		if field(before, "spec") != field(after, "spec") || before.GetGeneration() != after.GetGeneration() {
			t.Errorf("%s: applying the same again wrote something:\n%s\n%s", name, field(before, "spec"), field(after, "spec"))
		}
		apply(c.kind, "v1", name, full.Replace(c.less), "new-team")
		if got := field(s.view(c.kind, "v1", name), c.path); c.never != "null" || got != "" {
			s.sameField(s.view(c.kind, "v1", name), c.path, c.never)
		}
		if c.alpha != "" {
			s.holds(s.view(c.kind, "v1alpha1", name), full.Replace(c.alpha))
		}
	}
}
