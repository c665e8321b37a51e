// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import "testing"

func TestAFieldIsNamedAsAtTheWrittenVersion(t *testing.T) {
	o := Object{Ports: []string{"admin", "sql"}, Handler: "httpGet"}
	for _, test := range []struct {
		kind, path, want string
		exact            bool
	}{
		{"ExternalService", "metadata.name", "metadata.name", true},
		{"ExternalService", "", "", true},
		{"ExternalService", "spec", "spec", true},
		{"ExternalService", "spec.endpoints", "spec.hosts", true},
		{"ExternalService", "spec.endpoints[12].addresses[0]", "spec.hosts[12]", true},
		{"ExternalService", "spec.endpoints[3].dns.name", "spec.hosts[3]", true},
		{"ExternalService", "spec.ports[1].port", "spec.ports.sql", true},
		{"ExternalService", "spec.ports[9].port", "spec.ports", false},
		{"ExternalService", "spec.ports[-1].port", "spec.ports", true},
		{"ExternalService", "spec.healthCheck.port", "spec.probe.httpGet.port", true},
		{"ExternalService", "spec.healthCheck.http.path", "spec.probe.httpGet.path", true},
		{"ExternalService", "spec.healthCheck.unhealthyInterval", "spec.probe", false},
		{"ExternalService", "spec.healthCheck", "spec.probe", true},
		{"ExternalService", "spec.service.type", "spec", false},
		{"RebootPolicy", "spec.targets[0].name", "spec.target.name", true},
		{"RebootPolicy", "spec.triggers[2].probe.period", "spec.policies[2].trigger.probe.periodSeconds", true},
		{"RebootPolicy", "spec.triggers[2].probe.httpGet.headers[1].name", "spec.policies[2].trigger.probe.httpGet.httpHeaders[1].name", true},
		{"RebootPolicy", "spec.triggers[2].probe.exec.container", "spec.policies[2].trigger.probe.exec", false},
		{"RebootPolicy", "spec.triggers[0].type", "spec.policies[0]", false},
		{"RebootPolicy", "spec.cooldown", "spec", false},
		{"ChaosPod", "spec.target.template.spec.containers[0].image", "spec.template.spec.containers[0].image", true},
		{"ChaosPod", "spec.schedule.at", "spec.nextStop", true},
		{"ChaosPod", "spec.schedule.cron", "spec.nextStop", false},
	} {
		if got, exact := ToV1Alpha1(test.kind, test.path, o); got != test.want || exact != test.exact {
			t.Errorf("%s %s: %s, %v instead of %s, %v", test.kind, test.path, got, exact, test.want, test.exact)
		}
	}
	if got, exact := ToV1Alpha1("ExternalService", "spec.healthCheck.port", Object{}); got != "spec.probe" || exact {
		t.Errorf("without a handler: %s, %v", got, exact)
	}
}

func TestAMessageOfV1NamesFieldsOfTheWrittenVersion(t *testing.T) {
	if got := Words("RebootPolicy", "timeout must not exceed period"); got != "timeoutSeconds must not exceed periodSeconds" {
		t.Error(got)
	}
	if got := Words("ChaosPod", "anything else"); got != "anything else" {
		t.Error(got)
	}
}

func FuzzNoPathPanics(f *testing.F) {
	f.Add("ExternalService", "spec.ports[1].port")
	f.Add("RebootPolicy", "spec.targets[99999999999999999999]")
	f.Add("ChaosPod", "spec.target.template[")
	f.Fuzz(func(_ *testing.T, kind, path string) { ToV1Alpha1(kind, path, Object{Ports: []string{"a"}}) })
}
