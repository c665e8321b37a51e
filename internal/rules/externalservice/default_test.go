// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

// parse reads a spec in YAML into an object named "billing-db".
func parse(t testing.TB, spec string) *v1.ExternalService {
	t.Helper()
	obj := &v1.ExternalService{}
	obj.Name, obj.Namespace = "billing-db", "shop"
	if err := yaml.UnmarshalStrict([]byte(spec), &obj.Spec); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return obj
}

func TestDefaultSetsWhatIsUnset(t *testing.T) {
	for name, tc := range map[string]struct{ given, want string }{
		"static address": {
			given: `{ports: [{name: a, port: 80}], endpoints: [{name: x, addresses: [192.0.2.1]}]}`,
			want: `{suspend: false, service: {type: ClusterIP}, deletionPolicy: Delete, historyLimit: 10, ports: [{name: a, port: 80, protocol: TCP}],
				endpoints: [{name: x, addresses: [192.0.2.1], priority: 0, state: Active}]}`,
		},
		"dns and a check": {
			given: `{ports: [{name: a, port: 80}], endpoints: [{name: x, dns: {name: a.example.com}}], healthCheck: {httpGet: {}}}`,
			want: `{suspend: false, service: {type: ClusterIP}, deletionPolicy: Delete, historyLimit: 10, ports: [{name: a, port: 80, protocol: TCP}],
				endpoints: [{name: x, dns: {name: a.example.com, recordType: Address}, priority: 0, state: Active}],
				resolution: {minTTL: 30s, maxTTL: 1h, onFailure: KeepLast, keepLastFor: 24h},
				healthCheck: {httpGet: {path: /, scheme: HTTP}, interval: 10s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}}`,
		},
		"tls turns the scheme": {
			given: `{suspend: true, service: {type: Headless}, deletionPolicy: Orphan, healthCheck: {httpGet: {path: /x}, tls: {}}}`,
			want: `{suspend: true, service: {type: Headless}, deletionPolicy: Orphan, historyLimit: 10,
				healthCheck: {httpGet: {path: /x, scheme: HTTPS}, tls: {insecureSkipVerify: false}, interval: 10s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}}`,
		},
		"bounds give way": {
			given: `{suspend: false, service: {type: ClusterIP}, deletionPolicy: Delete, resolution: {maxTTL: 12s}, healthCheck: {tcpSocket: {}, interval: 1500ms}, failover: {failback: Manual}}`,
			want: `{suspend: false, service: {type: ClusterIP}, deletionPolicy: Delete, historyLimit: 10,
				resolution: {minTTL: 12s, maxTTL: 12s, onFailure: KeepLast, keepLastFor: 24h},
				healthCheck: {tcpSocket: {}, interval: 1500ms, timeout: 1500ms, unhealthyInterval: 30s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3},
				failover: {minHealthyPercent: 1, panicThresholdPercent: 0, failback: Manual, failbackDelay: 5m}}`,
		},
		"bounds give way upwards": {
			given: `{suspend: false, service: {type: ClusterIP}, deletionPolicy: Delete, resolution: {minTTL: 90m}, healthCheck: {tcpSocket: {}, timeout: 11s}}`,
			want: `{suspend: false, service: {type: ClusterIP}, deletionPolicy: Delete, historyLimit: 10,
				resolution: {minTTL: 90m, maxTTL: 90m, onFailure: KeepLast, keepLastFor: 24h},
				healthCheck: {tcpSocket: {}, interval: 11s, timeout: 11s, unhealthyInterval: 30s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, tc.given)
			Default(got)
			if diff := cmp.Diff(parse(t, tc.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaultIsStableAndNeverBreaksAValidObject(t *testing.T) {
	kind, spec := validationtest.Definition(t, group, resource), schema(t).Properties["spec"]
	bases := validationtest.Objects(t, "testdata/bases.yaml")
	pool := append(constraints(t, &spec, []string{"spec"}), relations()...)
	for _, path := range []string{"spec.resolution.minTTL", "spec.resolution.maxTTL", "spec.healthCheck.interval", "spec.healthCheck.timeout"} {
		pool = append(pool, drop("", path), drop("", path), drop("", path))
		for _, value := range []string{"1s", "1999ms", "2s", "10s", "10001ms", "30s", "1h", "61m", "100h"} {
			pool = append(pool, put("", value, path))
		}
	}
	for _, path := range []string{"spec.failover", "spec.resolution", "spec.service", "spec.endpoints[*].priority", "spec.healthCheck.httpGet.scheme", "spec.healthCheck.tls"} {
		pool = append(pool, drop("", path), put("", map[string]any{}, path))
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	valid := 0
	for range 4000 {
		data := runtime.DeepCopyJSON(bases[random.IntN(len(bases))])
		for range random.IntN(6) {
			if m := pool[len(pool)-1-random.IntN(len(pool))]; !m.breaks && m.rule == "" {
				m.apply(data)
			}
		}
		obj, ok := decodes(data)
		if !ok {
			continue
		}
		once := obj.DeepCopy()
		Default(once)
		twice := once.DeepCopy()
		Default(twice)
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Fatalf("seed %d: a second time changes: %s", seed, diff)
		}
		if len(Validate(obj, nil)) == 0 {
			valid++
			demandValid(t, kind, once)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if valid < 300 {
		t.Errorf("seed %d: only %d valid objects: too few to mean anything", seed, valid)
	}
}

// demandValid demands that Go and the CRD accept an object that has its defaults.
func demandValid(t *testing.T, kind *crdschema.Kind, defaulted *v1.ExternalService) {
	t.Helper()
	if errs := Validate(defaulted, nil); len(errs) > 0 {
		t.Errorf("defaults made it invalid: %v", errs)
	}
	if errs := bySchema(kind, validationtest.Untyped(t, defaulted)); len(errs) > 0 {
		t.Errorf("the CRD refuses the defaulted object: %v", errs)
	}
}

func TestDefaultAgreesWithTheSchemasOwnDefaults(t *testing.T) {
	kind := validationtest.Definition(t, group, resource)
	for _, base := range validationtest.Objects(t, "testdata/bases.yaml") {
		alone := typed(t, base)
		Default(alone)
		data := runtime.DeepCopyJSON(base)
		kind.Default("v1", data)
		after := typed(t, data)
		Default(after)
		if diff := cmp.Diff(alone.Spec, after.Spec); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDefaultMapsWritesNothingInListItems(t *testing.T) {
	for name, spec := range map[string]string{
		"addresses": `{ports: [{name: a, port: 80}], endpoints: [{name: x, addresses: [192.0.2.1]}]}`,
		"a name":    `{ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP}], endpoints: [{name: x, dns: {name: a.example.com}, ports: [{name: a, port: 81}]}, {name: y, priority: 1, addresses: [192.0.2.1]}], healthCheck: {httpGet: {port: a}}, failover: {}}`,
		"nothing":   `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			given, got, whole := parse(t, spec), parse(t, spec), parse(t, spec)
			DefaultMaps(got)
			Default(whole)
			if diff := cmp.Diff(given.Spec.Ports, got.Spec.Ports) + cmp.Diff(given.Spec.Endpoints, got.Spec.Endpoints); diff != "" {
				t.Errorf("a list changed (-given +got)\n%s", diff)
			}
			if got.Spec.Suspend == nil || got.Spec.Service.Type == nil || (got.Spec.Resolution == nil) != (whole.Spec.Resolution == nil) {
				t.Error("a map has no default")
			}
			Default(got)
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("Default after DefaultMaps differs from Default alone (-want +got)\n%s", diff)
			}
		})
	}
}
