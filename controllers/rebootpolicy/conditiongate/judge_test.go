// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conditiongate

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// certificate is a gate on the condition Ready of a Certificate, with further fields.
func certificate(t *testing.T, fields string) *autorebootv1.ObjectCondition {
	t.Helper()
	of := &autorebootv1.ObjectCondition{}
	if err := yaml.UnmarshalStrict([]byte("{apiVersion: cert-manager.io/v1, kind: Certificate, name: web"+fields+"}"), of); err != nil {
		t.Fatal(err)
	}
	return of
}

// object has a kind, a generation of 3 and a status.
func object(t *testing.T, kind, status string) *unstructured.Unstructured {
	t.Helper()
	of := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{"+kind+", metadata: {namespace: shop, name: web, generation: 3}, status: "+status+"}"), &of.Object); err != nil {
		t.Fatal(err)
	}
	data, err := of.MarshalJSON() // numbers as a client reads them
	if err == nil {
		err = of.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func TestAConditionOpensItsGateWhileItIsKnown(t *testing.T) {
	const ready, isTrue, old = ", type: Ready", `, type: Ready, status: "True"`, `, type: Ready, status: "True", maxAge: 1h`
	conditions := func(fields string) string {
		return "{conditions: [{type: Issuing, status: 'True'}, {type: Ready, " + fields + "}]}"
	}
	since := func(at string) string {
		return conditions("status: 'True', lastTransitionTime: '2026-03-02T" + at + "Z'")
	}
	for name, test := range map[string]struct{ gate, status, want string }{
		"true":                        {isTrue, conditions("status: 'True'"), ""},
		"false":                       {isTrue, conditions("status: 'False', reason: IssuerNotFound, message: a secret"), "Certificate web: condition Ready is False (IssuerNotFound)"},
		"unknown":                     {isTrue, conditions("status: Unknown"), "Certificate web: condition Ready is Unknown"},
		"false is wanted":             {ready + `, status: "False"`, conditions("status: 'False'"), ""},
		"false is wanted, it is true": {ready + `, status: "False"`, conditions("status: 'True'"), "Certificate web: condition Ready is True"},
		"no condition":                {isTrue, "{conditions: [{type: Other, status: 'True'}]}", "Certificate web has no condition Ready"},
		"no status":                   {isTrue, "{}", "Certificate web has no condition Ready"},
		"no status of the condition":  {isTrue, conditions("reason: Fine"), "Certificate web has no condition Ready"},
		"conditions of another form":  {isTrue, "{conditions: [Ready]}", "Certificate web has no condition Ready"},
		"of an earlier generation":    {isTrue, conditions("status: 'True', observedGeneration: 2"), "Certificate web: condition Ready is of generation 2, and the spec of generation 3"},
		"of this generation":          {isTrue, conditions("status: 'True', observedGeneration: 3"), ""},
		"a status of an earlier one":  {isTrue, "{observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}", "Certificate web: condition Ready is of generation 2, and the spec of generation 3"},
		"a generation that is a text": {isTrue, "{observedGeneration: '2', conditions: [{type: Ready, status: 'True'}]}", ""},
		"recent":                      {old, since("11:00:00"), ""},
		"not recent":                  {old, since("10:59:59"), "Certificate web: condition Ready is True since 2026-03-02T10:59:59Z, more than 1h ago"},
		"the clock of another":        {old, since("12:01:00"), ""},
		"in the future":               {old, since("12:01:01"), "Certificate web: condition Ready is True since 2026-03-02T12:01:01Z, which is in the future"},
		"without a time":              {old, conditions("status: 'True'"), "Certificate web: condition Ready is True of an unknown age: it has no lastTransitionTime"},
	} {
		t.Run(name, func(t *testing.T) {
			of := object(t, "apiVersion: cert-manager.io/v1, kind: Certificate", test.status)
			if got := Closed(of, certificate(t, test.gate), noon); got != test.want {
				t.Errorf("closed: %q, want %q", got, test.want)
			}
		})
	}
}

func TestWithoutATypeTheRulesOfKstatusDecide(t *testing.T) {
	const foreign, job, claim = "apiVersion: cert-manager.io/v1, kind: Certificate", "apiVersion: batch/v1, kind: Job", "apiVersion: v1, kind: PersistentVolumeClaim"
	const unknown = "Certificate web has no condition Ready, which would say whether it is current: set the type of a condition"
	for name, test := range map[string]struct{ kind, status, want string }{
		"ready":                      {foreign, "{observedGeneration: 3, conditions: [{type: Ready, status: 'True'}]}", ""},
		"not ready":                  {foreign, "{conditions: [{type: Ready, status: 'False', reason: Pending}]}", "Certificate web is not current: InProgress (Pending)"},
		"an earlier generation":      {foreign, "{observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}", "Certificate web is not current: InProgress (LatestGenerationNotObserved)"},
		"ready of an earlier one":    {foreign, "{conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}", "Certificate web: condition Ready is of generation 2, and the spec of generation 3"},
		"stalled":                    {foreign, "{conditions: [{type: Stalled, status: 'True', reason: Broken}, {type: Ready, status: 'True'}]}", "Certificate web is not current: Failed (Broken)"},
		"reconciling":                {foreign, "{conditions: [{type: Reconciling, status: 'True', reason: Progressing}]}", "Certificate web is not current: InProgress (Progressing)"},
		"nothing says so":            {foreign, "{}", unknown},
		"another condition says so":  {foreign, "{observedGeneration: 3, conditions: [{type: Available, status: 'False'}]}", unknown},
		"what kstatus does not read": {foreign, "{observedGeneration: '3'}", "Certificate web has a status that kstatus cannot read: set the type of a condition"},
		"a kind with its own rule":   {claim, "{phase: Bound}", ""},
		"and by this one it is not":  {claim, "{phase: Pending}", "Certificate web is not current: InProgress (NotBound)"},
		"a Job that failed":          {job, "{conditions: [{type: Failed, status: 'True'}]}", "Certificate web is not current: Failed (JobFailed)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Closed(object(t, test.kind, test.status), certificate(t, ""), noon); got != test.want {
				t.Errorf("closed: %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnObjectThatIsBeingDeletedClosesItsGate(t *testing.T) {
	for _, gate := range []string{"", `, type: Ready, status: "True"`} {
		of := object(t, "apiVersion: cert-manager.io/v1, kind: Certificate", "{conditions: [{type: Ready, status: 'True'}]}")
		if got := Closed(of, certificate(t, gate), noon); got != "" {
			t.Errorf("before: %q", got)
		}
		unstructured.SetNestedField(of.Object, "2026-03-02T11:00:00Z", "metadata", "deletionTimestamp") //nolint:errcheck // a text can be set
		if got := Closed(of, certificate(t, gate), noon); got != "Certificate web is being deleted" {
			t.Errorf("%q", got)
		}
	}
}
