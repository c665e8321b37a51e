// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestDefaultSetsWhatIsUnset(t *testing.T) {
	for name, tc := range map[string]struct{ given, want string }{
		"static address": {
			given: `{ports: [{name: a, port: 80}], endpoints: [{name: x, addresses: [192.0.2.1]}]}`,
			want: `{suspend: false, service: {}, deletionPolicy: Delete, historyLimit: 10, ports: [{name: a, port: 80, protocol: TCP}],
				endpoints: [{name: x, addresses: [192.0.2.1], priority: 0, state: Active}]}`,
		},
		"dns and a check": {
			given: `{ports: [{name: a, port: 80}], endpoints: [{name: x, dns: {name: A.Example.com}}], healthCheck: {httpGet: {}}}`,
			want: `{suspend: false, service: {}, deletionPolicy: Delete, historyLimit: 10, ports: [{name: a, port: 80, protocol: TCP}],
				endpoints: [{name: x, dns: {name: a.example.com, recordType: Address}, priority: 0, state: Active}],
				resolution: {minTTL: 30s, maxTTL: 1h, onFailure: KeepLast, keepLastFor: 24h},
				healthCheck: {httpGet: {path: /, scheme: HTTP}, interval: 10s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}}`,
		},
		"tls turns the scheme": {
			given: `{suspend: true, service: {clusterIP: None}, deletionPolicy: Orphan, healthCheck: {httpGet: {path: /x}, tls: {}}}`,
			want: `{suspend: true, service: {clusterIP: None}, deletionPolicy: Orphan, historyLimit: 10,
				healthCheck: {httpGet: {path: /x, scheme: HTTPS}, tls: {insecureSkipVerify: false}, interval: 10s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}}`,
		},
		"bounds give way": {
			given: `{suspend: false, service: {}, deletionPolicy: Delete, resolution: {maxTTL: 12s}, healthCheck: {tcpSocket: {}, interval: 1500ms}, failover: {failback: Manual}}`,
			want: `{suspend: false, service: {}, deletionPolicy: Delete, historyLimit: 10,
				resolution: {minTTL: 12s, maxTTL: 12s, onFailure: KeepLast, keepLastFor: 24h},
				healthCheck: {tcpSocket: {}, interval: 1500ms, timeout: 1500ms, unhealthyInterval: 30s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3},
				failover: {minHealthyPercent: 1, panicThresholdPercent: 0, failback: Manual, failbackDelay: 5m}}`,
		},
		"bounds give way upwards": {
			given: `{suspend: false, service: {}, deletionPolicy: Delete, resolution: {minTTL: 90m}, healthCheck: {tcpSocket: {}, timeout: 11s}}`,
			want: `{suspend: false, service: {}, deletionPolicy: Delete, historyLimit: 10,
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
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	kind, good := rulestest.Definition(t, group, resource), rulestest.Objects(t, "testdata/good.yaml")
	valid := 0
	for range 500 {
		data := rulestest.Vary(random, good[random.IntN(len(good))])
		kind.Default("v1", data)
		given := rulestest.Typed[v1.ExternalService](t, data)
		once := given.DeepCopy()
		Default(once)
		twice := once.DeepCopy()
		Default(twice)
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Fatalf("a second time changes: %s", diff)
		}
		if len(kind.Validate(t.Context(), "v1", data, nil))+len(Validate(given, nil)) > 0 {
			continue
		}
		valid++
		if errs := append(kind.Validate(t.Context(), "v1", rulestest.Untyped(t, once), nil), Validate(once, nil)...); len(errs) > 0 {
			t.Fatalf("defaults made %v invalid: %v", data, errs)
		}
	}
	if valid < 100 {
		t.Errorf("only %d valid objects: too few to mean anything", valid)
	}
}

func TestDefaultAgreesWithTheSchemasOwnDefaults(t *testing.T) {
	kind := rulestest.Definition(t, group, resource)
	for _, object := range rulestest.Objects(t, "testdata/good.yaml") {
		alone := rulestest.Typed[v1.ExternalService](t, object)
		Default(alone)
		kind.Default("v1", object)
		after := rulestest.Typed[v1.ExternalService](t, object)
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
			if got.Spec.Suspend == nil || got.Spec.Service != nil || (got.Spec.Resolution == nil) != (whole.Spec.Resolution == nil) {
				t.Error("a map has no default, or an unused one")
			}
			Default(got)
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("Default after DefaultMaps differs from Default alone (-want +got)\n%s", diff)
			}
		})
	}
}
