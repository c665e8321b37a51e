// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestCredentialsAreSentToPodsAlone(t *testing.T) {
	policy := func(host string, headers ...string) *autorebootv1.RebootPolicy {
		check := &autorebootv1.HTTPGet{Host: host, Port: 443}
		for _, name := range headers {
			check.Headers = append(check.Headers, autorebootv1.HTTPHeader{Name: name, Value: "x"})
		}
		p := restarting("web")
		p.Spec.Triggers = append(p.Spec.Triggers, autorebootv1.Trigger{Name: "probe", Probe: &autorebootv1.Probe{HTTPGet: check}})
		return p
	}
	last := func(p *autorebootv1.RebootPolicy) string {
		return "spec.triggers[" + string(rune('0'+len(p.Spec.Triggers)-1)) + "].probe.httpGet.headers"
	}
	for name, c := range map[string]struct {
		obj, old *autorebootv1.RebootPolicy
		refused  []string
	}{
		"to pods":                {policy("", "Authorization", "Cookie"), nil, nil},
		"other headers":          {policy("api.example.com", "Accept", "X-Authorization"), nil, nil},
		"each of them":           {policy("api.example.com", "Accept", "Authorization", "cookie", "PROXY-Authorization"), nil, []string{"[1].name", "[2].name", "[3].name"}},
		"to an address":          {policy("192.0.2.1", "Cookie"), nil, []string{"[0].name"}},
		"as they stood":          {policy("192.0.2.1", "Cookie"), policy("192.0.2.1", "Cookie"), nil},
		"to another host":        {policy("192.0.2.2", "Cookie"), policy("192.0.2.1", "Cookie"), []string{"[0].name"}},
		"of pods, to a host now": {policy("192.0.2.2", "Cookie"), policy("", "Cookie"), []string{"[0].name"}},
	} {
		errs := credentials(c.obj, c.old)
		if len(errs) != len(c.refused) {
			t.Errorf("%s: %v, want %d refusals", name, errs, len(c.refused))
			continue
		}
		for i, want := range c.refused {
			if errs[i].Field != last(c.obj)+want {
				t.Errorf("%s: %s, want %s", name, errs[i].Field, last(c.obj)+want)
			}
		}
	}
}
