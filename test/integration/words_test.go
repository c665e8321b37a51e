// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A message to a user who wrote v1alpha1 names the field that was written. The sentence is that of v1.
func TestARefusalAtV1alpha1SpeaksOfTheFieldsThatWereWritten(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for name, c := range map[string]struct {
		kind
		spec   string
		stderr string
		fields []string
	}{
		"an address": {externalServices, `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: db.example.com}}, {name: b, addresses: [127.0.0.1]}]}`,
			`The ExternalService "bad" is invalid: spec.endpoints[1].addresses[0]: Invalid value: "127.0.0.1": loopback, unspecified, link-local and multicast link-local addresses are not allowed
`, []string{"spec.endpoints[1].addresses[0]"}},
		"a probe": {externalServices, `{ports: [{name: web, port: 80}], endpoints: [{name: a, dns: {name: db.example.com}}], probe: {httpGet: {port: other}}}`,
			`The ExternalService "bad" is invalid: spec.probe.httpGet.port: Invalid value: port must be a number or the name of a TCP port of spec.ports, and may be absent where that has a single port
`, []string{"spec.probe.httpGet.port"}},
		"a header of a probe": {rebootPolicies, `{targets: [{kind: Deployment, name: web}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {httpGet: {port: http, httpHeaders: [{name: "a b", value: c}]}}}]}`,
			`The RebootPolicy "bad" is invalid: spec.policies[0].probe.httpGet.httpHeaders[0].name: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')
`, []string{"spec.policies[0].probe.httpGet.httpHeaders[0].name"}},
		"a template": {chaosPods, `{template: {spec: {containers: [{name: a, image: " x"}]}}}`,
			`The ChaosPod "bad" is invalid: spec.template.spec.containers[0].image: Invalid value: " x": must not begin or end with white space
`, []string{"spec.template.spec.containers[0].image"}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *s
			sub.T = t
			manifest := c.object("v1alpha1", "bad", c.spec)
			answer := sub.try("create", "-f", "-", "--", manifest)
			_, said, _ := strings.Cut(answer.err, "\n") // below the warning that the version is deprecated
			if diff := cmp.Diff(c.stderr, said); diff != "" || answer.failure == nil {
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

func TestAWarningAtV1alpha1SpeaksOfTheFieldsThatWereWritten(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	answer := s.apply(rebootPolicies.object("v1alpha1", "told", `{targets: [{kind: Deployment, name: web}], cooldown: 10m, policies: [
  {name: up, type: Probe, probe: {host: db.shop.svc, tcpSocket: {port: 80}}}]}`))
	want := `Warning: spec.policies[0].probe.host: db.shop.svc resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without host, the probe checks every pod of the target
`
	deprecation, warning, _ := strings.Cut(answer.err, "\n")
	s.Expect(deprecation, "autoreboot.fairlead.dev/v1alpha1 RebootPolicy is deprecated; use autoreboot.fairlead.dev/v1")
	if diff := cmp.Diff(want, warning); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
