// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// A user who wrote v1alpha1 is told the field that was written. The sentence is that of v1.
func TestARefusalAtV1alpha1SpeaksOfTheFieldsThatWereWritten(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for name, c := range map[string]struct {
		kind
		spec   string
		stderr string
		fields []string
	}{
		"hosts": {externalServices, `{hosts: [db.example.com, 127.0.0.1], ports: {sql: 5432}}`,
			`The ExternalService "bad" is invalid: spec.hosts[1]: Invalid value: "127.0.0.1": loopback, unspecified, link-local and multicast link-local addresses are not allowed
`, []string{"spec.hosts[1]"}},
		"ports and probe": {externalServices, `{hosts: [db.example.com], ports: {UP: 80, web: 80}, probe: {httpGet: {port: 3}, periodSeconds: 1, timeoutSeconds: 2}}`,
			`The ExternalService "bad" is invalid: 
* spec.ports.UP: Invalid value: "UP": must be lower-case letters, digits and hyphens, with a letter or digit at both ends
* spec.ports.web: Invalid value: 80: port and protocol must be unique
* spec.probe.timeoutSeconds: Invalid value: "2s": timeout must not exceed interval
* spec.probe.httpGet.port: Invalid value: "3": port must be the name or the number of a TCP port of spec.ports, and may be absent where that has a single port
`, []string{"spec.ports.UP", "spec.ports.web", "spec.probe.timeoutSeconds", "spec.probe.httpGet.port"}},
		"policies": {rebootPolicies, `{target: {kind: Deployment}, policies: [{name: up, trigger: {probe: {httpGet: {port: http, httpHeaders: [{name: "a b", value: c}]}}}}]}`,
			`The RebootPolicy "bad" is invalid: 
* spec.target.name: Invalid value: set exactly one of name or selector
* spec.policies[0].trigger.probe.httpGet.httpHeaders[0].name: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')
`, []string{"spec.target.name", "spec.policies[0].trigger.probe.httpGet.httpHeaders[0].name"}},
		"a template": {chaosPods, `{template: {spec: {containers: [{name: a, image: " x"}]}}}`,
			`The ChaosPod "bad" is invalid: spec.template.spec.containers[0].image: Invalid value: " x": must not begin or end with white space
`, []string{"spec.template.spec.containers[0].image"}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *s
			sub.T = t
			manifest := c.object("v1alpha1", "bad", c.spec)
			answer := sub.try("create", "-f", "-", "--", manifest)
			if diff := cmp.Diff(c.stderr, answer.err); diff != "" || answer.failure == nil {
				t.Errorf("-want +got:\n%s", diff)
			}
			// What programs read says the same.
			object := sub.Objects(manifest)[0]
			object.SetNamespace(sub.Namespace)
			var refused apierrors.APIStatus
			if err := sub.Client.Create(t.Context(), object); !errors.As(err, &refused) || refused.Status().Details == nil {
				t.Fatalf("%v", err)
			}
			var fields []string
			for _, cause := range refused.Status().Details.Causes {
				fields = append(fields, cause.Field)
			}
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("causes, -want +got:\n%s", diff)
			}
			if !strings.Contains(refused.Status().Message, c.fields[0]) {
				t.Error(refused.Status().Message)
			}
		})
	}
}

func TestARefusalAtV1alpha1OfWhatV1AloneCanSayNamesTheFieldOfV1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(chaosPods.object("v1", "monkey", `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`))
	forged := s.forge(chaosPods, "monkey", func(spec map[string]any) { spec["count"] = "150%" })
	forged.SetName("new")
	forged.SetResourceVersion("")
	forged.SetUID("")
	// Until 1.34, the API server writes the type in place of the value.
	s.refused([]string{`spec: Invalid value: "`, `": must be a non-negative integer or a percentage 0%-100%`, "(spec.count of v1: ", "so set it at v1)"},
		"create", "-f", "-", "--", framework.Text(forged.Object))
	s.refused([]string{"spec.template: Invalid value: ", "target.template cannot be added or removed: delete the object and create it again"},
		"patch", chaosPods.at("v1alpha1"), "monkey", "--type=merge", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx"}]}}}}`)
}

func TestAWarningAtV1alpha1SpeaksOfTheFieldsThatWereWritten(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	answer := s.apply(rebootPolicies.object("v1alpha1", "told", `{target: {kind: Deployment, name: web}, policies: [
  {name: up, trigger: {probe: {tcpSocket: {port: 80, host: db.shop.svc}}}}]}`))
	want := `Warning: spec.policies[0].trigger.probe.tcpSocket.host: db.shop.svc resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without host every pod of the target is asked itself
`
	if diff := cmp.Diff(want, answer.err); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
