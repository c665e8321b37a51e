// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestDefaultFillsInWhatIsUnset(t *testing.T) {
	got := typed(t, rulestest.Object(t, `
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: least}
spec:
  targets: [{kind: DaemonSet, name: agent}]
  triggers:
  - {name: config, type: ConfigChange, configChange: {sources: [{kind: Secret, name: a}]}}
  - {name: tls, type: CertificateRenewal, certificateRenewal: {secretName: tls}}
  - {name: age, type: PodAge, podAge: {max: 24h}}
  - {name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db}}
  - {type: ConfigChange}
  gates:
  - {type: Approval}
  - {name: ledger, type: Condition, condition: {apiVersion: apps/v1, kind: Deployment, name: ledger}}
  - {name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived}}
`))
	Default(got)
	want := typed(t, rulestest.Object(t, `
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: least}
spec:
  suspend: false
  dryRun: false
  targets: [{group: apps, kind: DaemonSet, name: agent, wave: 0}]
  triggers:
  - {name: config, urgency: Normal, type: ConfigChange, configChange: {discovery: Referenced, sources: [{kind: Secret, name: a, optional: false}], onCreate: Ignore, onDelete: Ignore}}
  - {name: tls, urgency: Normal, type: CertificateRenewal, certificateRenewal: {secretName: tls, key: tls.crt}}
  - {name: age, urgency: Normal, type: PodAge, podAge: {max: 24h}}
  - {name: moved, urgency: Normal, type: EndpointsChange, endpointsChange: {externalServiceName: db, events: [AddressesChanged, FailedOver]}}
  - {name: configchange, urgency: Normal, type: ConfigChange, configChange: {discovery: Referenced, onCreate: Ignore, onDelete: Ignore}}
  gates:
  - {name: approval, type: Approval}
  - {name: ledger, type: Condition, condition: {apiVersion: apps/v1, kind: Deployment, name: ledger}}
  - {name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived, status: "True"}}
  strategy: {type: RolloutRestart}
  debounce: {quietPeriod: 2s, maxDelay: 30s}
  cooldown: 0s
  limit: {maxRestarts: 6, within: 1h}
  retry: {maxAttempts: 3, backoff: 10m}
  concurrency: {maxTargets: 1}
  verification: {timeout: 15m, soak: 30s, maxContainerRestarts: 0, onFailure: Halt}
  historyLimit: 10
`))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDefaultsGiveWayToWhatIsSet(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"probe":                  {probed("{}"), probed("{interval: 30s, timeout: 5s, failureThreshold: 5, successThreshold: 1, minUnhealthy: 50%}")},
		"short period":           {probed("{interval: 2s}"), probed("{interval: 2s, timeout: 2s, failureThreshold: 5, successThreshold: 1, minUnhealthy: 50%}")},
		"long timeout":           {probed("{timeout: 45s}"), probed("{interval: 45s, timeout: 45s, failureThreshold: 5, successThreshold: 1, minUnhealthy: 50%}")},
		"a span that is no span": {probed("{timeout: soon}"), probed("{interval: 30s, timeout: soon, failureThreshold: 5, successThreshold: 1, minUnhealthy: 50%}")},
		"short maxDelay":         {"debounce: {maxDelay: 1s}", "debounce: {quietPeriod: 1s, maxDelay: 1s}"},
		"long quietPeriod":       {"debounce: {quietPeriod: 1h}", "debounce: {quietPeriod: 1h, maxDelay: 1h}"},
		"evict":                  {"strategy: {type: Evict}", "strategy: {type: Evict, evict: {maxUnavailable: 1, timeout: 10m}}"},
		"an HTTP probe":          {"triggers: [{name: p, type: Probe, probe: {httpGet: {port: 80}}}]", "triggers: [{name: p, type: Probe, probe: {httpGet: {port: 80, path: /, scheme: HTTP}, interval: 30s, timeout: 5s, failureThreshold: 5, successThreshold: 1, minUnhealthy: 50%}}]"},
		"a probe of a verification": {"verification: {probes: [{name: p, host: a, httpGet: {port: 443}, tls: {}}, {name: q, host: a, tcpSocket: {port: 1}, timeout: 7s}]}",
			"verification: {timeout: 15m, soak: 30s, maxContainerRestarts: 0, onFailure: Halt, probes: [{name: p, host: a, httpGet: {port: 443, path: /, scheme: HTTPS}, tls: {insecureSkipVerify: false}, interval: 1s, timeout: 1s, maxFailures: 0}, {name: q, host: a, tcpSocket: {port: 1}, interval: 7s, timeout: 7s, maxFailures: 0}]}"},
		"explicit false and zero": {"suspend: false\nhistoryLimit: 0\nretry: {maxAttempts: 0}", "suspend: false\nhistoryLimit: 0\nretry: {maxAttempts: 0, backoff: 10m}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := spec(t, c.spec), spec(t, c.want)
			Default(got)
			Default(want) // fills in what the case does not speak of
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if explicit := spec(t, c.want); !holds(rulestest.Untyped(t, want), rulestest.Untyped(t, explicit)) {
				t.Errorf("Default changed what was set: %v", rulestest.Untyped(t, want)["spec"])
			}
		})
	}
}

func probed(probe string) string { return "triggers: [{name: p, type: Probe, probe: " + probe + "}]" }

func spec(t *testing.T, text string) *autorebootv1.RebootPolicy {
	t.Helper()
	out := typed(t, map[string]any{"spec": rulestest.Object(t, text)})
	return out
}

// holds reports whether whole contains all of part.
func holds(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		other, ok := whole.(map[string]any)
		for key, value := range part {
			ok = ok && holds(other[key], value)
		}
		return ok
	case []any:
		other, ok := whole.([]any)
		for i, value := range part {
			ok = ok && i < len(other) && holds(other[i], value)
		}
		return ok
	}
	return whole == part
}

func TestCooldownIsLeftToTheAuthorOfAProbe(t *testing.T) {
	obj := spec(t, probed("{tcpSocket: {port: 80}}"))
	Default(obj)
	if obj.Spec.Cooldown != nil {
		t.Errorf("cooldown %s was set, so that the rule which demands it can never fire", *obj.Spec.Cooldown)
	}
}

func TestDefaultIsIdempotentAndMakesNoValidObjectInvalid(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	kind, good := rulestest.Definition(t, group, resource), rulestest.Objects(t, "testdata/good.yaml")
	valid := 0
	for range 500 {
		before := rulestest.Vary(random, good[random.IntN(len(good))])
		obj := typed(t, before)
		Default(obj)
		if len(kind.Validate(t.Context(), "v1", before, nil))+len(Validate(typed(t, before), nil)) == 0 {
			valid++
			if errs := append(kind.Validate(t.Context(), "v1", rulestest.Untyped(t, obj), nil), Validate(obj, nil)...); len(errs) > 0 {
				t.Fatalf("defaults made it invalid: %v\nbefore %v\nafter %v", errs, before, rulestest.Untyped(t, obj))
			}
		}
		if !holds(rulestest.Untyped(t, obj), rulestest.Untyped(t, typed(t, before))) {
			t.Fatalf("Default changed what was set\nbefore %v\nafter %v", before, rulestest.Untyped(t, obj))
		}
		again := obj.DeepCopy()
		Default(again)
		if !reflect.DeepEqual(obj, again) {
			t.Fatalf("a second Default changed it\n%s", cmp.Diff(obj, again))
		}
	}
	if valid < 100 {
		t.Errorf("only %d objects were valid", valid)
	}
}

func TestDefaultMapsWritesNothingInListItems(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	good := rulestest.Objects(t, "testdata/good.yaml")
	for range 500 {
		obj := typed(t, rulestest.Vary(random, good[random.IntN(len(good))]))
		whole := obj.DeepCopy()
		Default(whole)
		before := rulestest.Untyped(t, obj)
		DefaultMaps(obj)
		after := rulestest.Untyped(t, obj)
		if diff := cmp.Diff(listsOf(before), listsOf(after)); diff != "" {
			t.Fatalf("a list changed (-before +after)\n%s", diff)
		}
		if !holds(after, before) {
			t.Fatalf("DefaultMaps changed what was set\nbefore %v\nafter %v", before, after)
		}
		if Default(obj); !reflect.DeepEqual(obj, whole) {
			t.Fatalf("Default after DefaultMaps differs from Default alone\n%s", cmp.Diff(whole, obj))
		}
	}
}

// listsOf are the lists of an object that are in no other list, by path.
func listsOf(value any) map[string]any {
	found := map[string]any{}
	var collect func(path string, value any)
	collect = func(path string, value any) {
		switch value := value.(type) {
		case []any:
			found[path] = value
		case map[string]any:
			for name, member := range value {
				collect(path+"."+name, member)
			}
		}
	}
	collect("", value)
	return found
}
