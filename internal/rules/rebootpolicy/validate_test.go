// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestRefusesWhatTheSchemaCannotSee(t *testing.T) {
	for _, c := range []struct{ path, value, field, want string }{
		{"serviceAccountName", "Robot_1", "spec.serviceAccountName", "RFC 1123"},
		{"targets.0.name", "Upper", "spec.targets[0].name", "RFC 1123"},
		{"targets.1.selector", "{matchLabels: {-a: b}}", "spec.targets[1].selector", "-a"},
		{"targets.1.selector", "{matchExpressions: [{key: a, operator: In}]}", "spec.targets[1].selector", "values"},
		{"triggers.0.configChange.sources.0.name", "a_b", "spec.triggers[0].configChange.sources[0].name", "RFC 1123"},
		{"triggers.0.configChange.sources.0.keys", "[a/b]", "spec.triggers[0].configChange.sources[0].keys[0]", "config key"},
		{"triggers.1.certificateRenewal.secretName", "a b", "spec.triggers[1].certificateRenewal.secretName", "RFC 1123"},
		{"triggers.1.certificateRenewal.key", "..", "spec.triggers[1].certificateRenewal.key", "must not be"},
		{"triggers.2.probe.timeout", "0s", "spec.triggers[2].probe.timeout", "at least 1ms"},
		{"triggers.2.probe.host", "a b", "spec.triggers[2].probe.host", "RFC 1123"},
		{"triggers.2.probe.httpGet.httpHeaders", "[{name: Cookie, value: a}]", "spec.triggers[2].probe.httpGet.httpHeaders[0].name", "not sent to payments.example.com"},
		{"triggers.7.probe.grpc.authority", "a b", "spec.triggers[7].probe.grpc.authority", "must be a host name"},
		{"triggers.3.schedule.cron", "0 3 * *", "spec.triggers[3].schedule.cron", "five fields"},
		{"triggers.3.schedule.cron", "0 0 30 2 *", "spec.triggers[3].schedule.cron", "five years"},
		{"triggers.3.schedule.timeZone", "Europe/Atlantis", "spec.triggers[3].schedule.timeZone", "unknown time zone"},
		{"triggers.3.schedule.startingDeadline", "0s", "spec.triggers[3].schedule.startingDeadline", "greater than 0"},
		{"triggers.5.endpointsChange.externalServiceName", "a.b", "spec.triggers[5].endpointsChange.externalServiceName", "dots"},
		{"strategy.evict.timeout", "0s", "spec.strategy.evict.timeout", "greater than 0"},
		{"limit.within", "0h", "spec.limit.within", "greater than 0"},
		{"verification.timeout", "0s", "spec.verification.timeout", "greater than 0"},
		{"verification.probes.0.host", "a b", "spec.verification.probes[0].host", "RFC 1123"},
		{"verification.probes.0.timeout", "0s", "spec.verification.probes[0].timeout", "at least 1ms"},
		{"verification.probes.0.httpGet.httpHeaders", "[{name: Authorization, value: a}]", "spec.verification.probes[0].httpGet.httpHeaders[0].name", "not sent to shop.example.com"},
		{"verification.probes.1.grpc.authority", "a b", "spec.verification.probes[1].grpc.authority", "must be a host name"},
		{"windows.0.cron", "0 22 * * 1-8", "spec.windows[0].cron", "Sunday is 0"},
		{"windows.0.timeZone", "Mars/Olympus", "spec.windows[0].timeZone", "unknown time zone"},
		{"blackouts.0.cron", "0 0 31 4 *", "spec.blackouts[0].cron", "five years"},
		{"gates.0.condition.name", "A", "spec.gates[0].condition.name", "RFC 1123"},
		{"gates.1.condition.apiVersion", "apps/v1/x", "spec.gates[1].condition.apiVersion", "as in a manifest"},
		{"gates.1.condition.apiVersion", "/v1", "spec.gates[1].condition.apiVersion", "as in a manifest"},
		{"gates.1.condition.apiVersion", "a b/v1", "spec.gates[1].condition.apiVersion", "as in a manifest"},
		{"gates.1.condition.apiVersion", "apps/", "spec.gates[1].condition.apiVersion", "as in a manifest"},
		{"gates.2.noPods.selector", "{matchLabels: {-a: b}}", "spec.gates[2].noPods.selector", "-a"},
		{"gates.4.condition.maxAge", "0s", "spec.gates[4].condition.maxAge", "greater than 0"},
	} {
		t.Run(c.path+" "+c.value, func(t *testing.T) {
			obj := typed(t, rulestest.Put(t, rulestest.Untyped(t, full(t)), "spec."+c.path, rulestest.Object(t, "v: "+c.value)["v"]))
			errs := Validate(obj, nil)
			if len(errs) != 1 || errs[0].Field != c.field || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("got %v, want one error at %s with %q", errs, c.field, c.want)
			}
		})
	}
	if errs := Validate(full(t), nil); len(errs) > 0 {
		t.Errorf("the good object: %v", errs)
	}
}

// The right to an object is reviewed, and the object is read, under the same name.
func TestAGateReadsTheResourceThatIsNamedByThePluralOfItsKind(t *testing.T) {
	for object, want := range map[[2]string]string{
		{"apps/v1", "Deployment"}:                     "apps/v1, Resource=deployments",
		{"v1", "Pod"}:                                 "/v1, Resource=pods",
		{"networking.k8s.io/v1", "Ingress"}:           "networking.k8s.io/v1, Resource=ingresses",
		{"networking.k8s.io/v1", "NetworkPolicy"}:     "networking.k8s.io/v1, Resource=networkpolicies",
		{"gateway.networking.k8s.io/v1", "Gateway"}:   "gateway.networking.k8s.io/v1, Resource=gateways",
		{"elasticsearch.k8s.elastic.co/v1", "Search"}: "elasticsearch.k8s.elastic.co/v1, Resource=searches",
		{"v1", "SECRET"}:                              "/v1, Resource=secrets",
	} {
		if got := ResourceOf(&autorebootv1.ObjectCondition{APIVersion: object[0], Kind: object[1]}).String(); got != want {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
}

// What a CronJob or Job runs is to end: nothing looks at its pods, or evicts them.
func TestPoliciesOfJobsLookAtNoPods(t *testing.T) {
	batch := autorebootv1.Target{Group: common.BatchGroup, Kind: "Job", Name: "report"}
	for want, spec := range map[string]autorebootv1.RebootPolicySpec{
		"": {Targets: []autorebootv1.Target{batch}, Triggers: []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange}}},
		`spec.targets[0].kind: Unsupported value: "Workflow"`: {Targets: []autorebootv1.Target{{Group: common.BatchGroup, Kind: "Workflow", Name: "report"}}},
		"the strategy Evict does not restart":                 {Targets: []autorebootv1.Target{batch}, Strategy: &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}},
		"trigger old of type PodAge looks at pods":            {Targets: []autorebootv1.Target{batch}, Triggers: []autorebootv1.Trigger{{Name: "old", Type: autorebootv1.TriggerPodAge}}},
		"trigger up of type Probe looks at pods":              {Targets: []autorebootv1.Target{batch}, Triggers: []autorebootv1.Trigger{{Name: "up", Type: autorebootv1.TriggerProbe}}},
	} {
		errs := Validate(&autorebootv1.RebootPolicy{Spec: spec}, nil)
		if want == "" && len(errs) > 0 || want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), want)) {
			t.Errorf("%q: %v", want, errs)
		}
	}
}

func TestStoredErrorsAreForgivenAndNewOnesAreNot(t *testing.T) {
	old := full(t)
	old.Spec.Windows[0].Cron = "0 0 30 2 *"
	old.Spec.Limit.Within = "0s"
	if errs := Validate(old, nil); len(errs) != 2 {
		t.Fatalf("on create: %v, want two errors", errs)
	}
	obj := old.DeepCopy()
	obj.Spec.HistoryLimit = ptr.To[int32](7)
	if errs := Validate(obj, old); len(errs) != 0 {
		t.Errorf("another field edited: %v", errs)
	}
	obj.Spec.Windows[0].Cron = "0 0 31 2 *"
	if errs := Validate(obj, old); len(errs) != 1 || errs[0].Field != "spec.windows[0].cron" {
		t.Errorf("one error exchanged for another: %v", errs)
	}
	obj.Spec.Windows[0].Cron = "0 0 28 2 *"
	obj.Spec.ServiceAccountName = "x_"
	if errs := Validate(obj, old); len(errs) != 1 || errs[0].Field != "spec.serviceAccountName" {
		t.Errorf("an error added: %v", errs)
	}
}
