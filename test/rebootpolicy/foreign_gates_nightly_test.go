// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// valves is a kind that Fairlead does not know.
const valves = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valves.plant.example.com}
spec:
  group: plant.example.com
  names: {kind: Valve, plural: valves}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// valvesRole gives the operator the right to the kind.
const valvesRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: plant-gates, labels: {rbac.fairlead.dev/aggregate-to-manager: "true"}}
rules: [{apiGroups: [plant.example.com], resources: [valves], verbs: [get]}]
`

func TestAGateOnAKindOfAnotherProjectNeedsTheRightOfItsWriterAndOfTheOperator(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.KubectlWith(valves, "apply", "--server-side", "-f", "-")
	s.KubectlWith("", "wait", "--for=condition=Established", "--timeout=60s", "crd/valves.plant.example.com")
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	const restart = "{apiGroups: [apps], resources: [deployments], verbs: [patch], resourceNames: [web]}"
	one := s.newPerson("one", restart)
	reader := s.newPerson("reader", restart, "{apiGroups: [plant.example.com], resources: [valves], verbs: [get], resourceNames: [main]}")
	gated := func(condition string) string {
		return "{" + targets(deployment, "web") + ", " + onConfig + ", cooldown: 0s, gates: [{name: valve, type: Condition, condition: {" + condition + "}}]}"
	}
	main := "apiVersion: plant.example.com/v1, kind: Valve, name: main"
	s.refused(one.tries("p", gated(main)), "spec.gates[0]", "may not get valves.plant.example.com", `"main"`, "ask for that right", "leave the gate out")
	for fields, parts := range map[string][]string{
		"apiVersion: v1, kind: Secret, name: creds":    {"spec.gates[0].condition.kind", "Secrets and ConfigMaps have no conditions: name an object of another kind"},
		"apiVersion: v1, kind: ConfigMap, name: conf":  {"spec.gates[0].condition.kind", "Secrets and ConfigMaps have no conditions"},
		"apiVersion: v1, kind: SECRET, name: creds":    {"spec.gates[0].condition.kind", "Secrets and ConfigMaps have no conditions"},
		main + ", maxAge: 1h":                          {"spec.gates[0].condition.maxAge", "set type as well"},
		main + `, status: "False"`:                     {"spec.gates[0].condition.status", "set type as well"},
		"apiVersion: /v1, kind: Valve, name: main":     {"spec.gates[0].condition.apiVersion", "must be as in a manifest"},
		"apiVersion: v1, kind: valve, name: main":      {"spec.gates[0].condition.kind", "must be a kind as in a manifest"},
		main + `, type: Ready, status: "Unknown"`:      {"spec.gates[0].condition.status", `"True", "False"`},
		"apiVersion: v1, kind: Valve, name: main/logs": {"spec.gates[0].condition.name", "RFC 1123"},
	} {
		s.refused(reader.tries("p", gated(fields)), parts...)
	}
	s.Must(reader.tries("p", gated(main)))
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	closed := func(because string) {
		s.Helper()
		s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
			c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
			if c == nil || c.Reason != autorebootv1.ReasonGateClosed || !strings.Contains(c.Message, "gate valve: "+because) {
				return fmt.Errorf("it does not wait because %s", because)
			}
			return nil
		})
	}
	closed(`Valve main cannot be read: the operator may not get valves.plant.example.com: grant it that, by a ClusterRole with the label rbac.fairlead.dev/aggregate-to-manager: "true"`)
	s.KubectlWith(valvesRole, "apply", "-f", "-")
	closed("Valve main does not exist")
	s.Make("{apiVersion: plant.example.com/v1, kind: Valve, metadata: {name: main}}")
	closed("Valve main has no condition Ready, which would say whether it is current: set the type of a condition")
	s.restarted(deployment, "web", 0)
	ready := func(status string) {
		s.Helper()
		s.Merge("plant.example.com/v1", "Valve", "main", "{status: {conditions: [{type: Ready, status: '"+status+"', reason: Turned}]}}")
	}
	ready("True")
	s.succeeded("p", 1)
	ready("False")
	s.set("p", "{gates: [{name: valve, type: Condition, condition: {"+main+", type: Ready}}]}") // a new gate is closed until its object is read
	s.secret("creds", "password", "third")
	closed("Valve main: condition Ready is False (Turned)")
	s.restarted(deployment, "web", 1)
	ready("True")
	s.succeeded("p", 2)
	s.restarted(deployment, "web", 2)
}
