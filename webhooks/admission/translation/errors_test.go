// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/webhooks/admission/translation"
	conversionofchaospod "github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	conversionofexternalservice "github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	conversionofrebootpolicy "github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

// kind is what admission does to objects of one.
type kind struct {
	group     string
	converter interface {
		Convert(raw []byte, toVersion string) ([]byte, error)
	}
	judge func(raw []byte) ([]byte, field.ErrorList, []string, error)
}

func judge[T any](set func(*T), validate func(obj, old *T) field.ErrorList, warn func(obj, old *T) []string) func([]byte) ([]byte, field.ErrorList, []string, error) {
	return func(raw []byte) ([]byte, field.ErrorList, []string, error) {
		obj := new(T)
		if err := json.Unmarshal(raw, obj); err != nil {
			return nil, nil, nil, err
		}
		set(obj)
		defaulted, err := json.Marshal(obj)
		return defaulted, validate(obj, nil), warn(obj, nil), err
	}
}

var kinds = map[string]kind{
	"ExternalService": {"networking.fairlead.dev", conversionofexternalservice.New(),
		judge[networkingv1.ExternalService](externalservice.Default, externalservice.Validate, externalservice.Warnings)},
	"RebootPolicy": {"autoreboot.fairlead.dev", conversionofrebootpolicy.New(),
		judge[autorebootv1.RebootPolicy](rebootpolicy.Default, rebootpolicy.Validate, rebootpolicy.Warnings)},
	"ChaosPod": {"chaos.fairlead.dev", conversionofchaospod.New(),
		judge[chaosv1.ChaosPod](chaospod.Default, chaospod.Validate, chaospod.Warnings)},
}

// told returns what the author of a v1alpha1 object is told about it, in the order of the rules.
func told(t *testing.T, name string, metadata map[string]any, spec string) (errs, warnings []string) {
	t.Helper()
	k := kinds[name]
	var body any
	if err := yaml.Unmarshal([]byte(spec), &body); err != nil {
		t.Fatal(err)
	}
	if metadata == nil {
		metadata = map[string]any{"name": "a"}
	}
	written, err := json.Marshal(map[string]any{"apiVersion": k.group + "/v1alpha1", "kind": name, "metadata": metadata, "spec": body})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := k.converter.Convert(written, "v1")
	if err != nil {
		t.Fatal(err)
	}
	stored, found, warned, err := k.judge(stored)
	if err != nil {
		t.Fatal(err)
	}
	o := translation.Read(name, stored)
	for _, err := range found {
		errs = append(errs, o.Error(err).Error())
	}
	for _, text := range warned {
		warnings = append(warnings, o.Warning(text))
	}
	return errs, warnings
}

func TestErrorsNameTheFieldThatWasWritten(t *testing.T) {
	annotated := func(hub string) map[string]any {
		return map[string]any{"name": "a", "annotations": map[string]any{
			"fairlead.dev/conversion-data": `{"digest":"x","partial":true,"hub":{"spec":` + hub + `}}`}}
	}
	for name, test := range map[string]struct {
		kind, spec string
		metadata   map[string]any
		errs       []string
		warnings   []string
	}{
		"hosts": {kind: "ExternalService", spec: "{hosts: [db.example.com, 127.0.0.1, x.svc, '2001:DB8::1'], ports: {sql: 5432}}", errs: []string{
			`spec.hosts[1]: Invalid value: "127.0.0.1": loopback, unspecified, link-local and multicast link-local addresses are not allowed`,
			`spec.hosts[2]: Invalid value: "x.svc": in-cluster and localhost names are not allowed`,
			`spec.hosts[3]: Invalid value: "2001:DB8::1": must be in canonical form, which is 2001:db8::1`,
		}},
		"more hosts than priorities": {kind: "ExternalService",
			spec: "{hosts: [a.example.com, b.example.com, c.example.com, d.example.com, e.example.com, f.example.com, g.example.com, h.example.com, i.example.com, j.example.com, k.example.com, 127.0.0.1], ports: {sql: 1}, probe: {tcpSocket: {port: 1}}}",
			errs: []string{`spec.hosts[11]: Invalid value: "127.0.0.1": loopback, unspecified, link-local and multicast link-local addresses are not allowed`}},
		"ports": {kind: "ExternalService", spec: "{hosts: [a.example.com], ports: {UP: 80, web: 80}}", errs: []string{
			`spec.ports.UP: Invalid value: "UP": must be lower-case letters, digits and hyphens, with a letter or digit at both ends`,
			`spec.ports.web: Invalid value: 80: port and protocol must be unique`,
		}},
		"the port of a probe": {kind: "ExternalService", spec: "{hosts: [a.example.com], ports: {a: 1, b: 2}, probe: {httpGet: {port: 3, path: 'a b'}, periodSeconds: 1, timeoutSeconds: 2}}", errs: []string{
			`spec.probe.httpGet.path: Invalid value: "a b": must start with /`,
			`spec.probe.timeoutSeconds: Invalid value: "2s": timeout must not exceed interval`,
			`spec.probe.httpGet.port: Invalid value: "3": port must be the name or the number of a TCP port of spec.ports, and may be absent where that has a single port`,
			`spec.probe.httpGet.path: Invalid value: "a b": must be a path with an optional query, percent-encoded, without a fragment`,
		}},
		"two handlers": {kind: "ExternalService", spec: "{hosts: [a.example.com], ports: {a: 1}, probe: {tcpSocket: {port: 1}, grpc: {port: 1}}}", errs: []string{
			`spec.probe: Invalid value: "tcpSocket, grpc": set exactly one of tcpSocket, httpGet, grpc`,
		}},
		"nothing": {kind: "ExternalService", spec: "{hosts: [], ports: {}}", errs: []string{
			`spec.ports: Invalid value: 0: must have at least 1 item`,
			`spec.hosts: Invalid value: must have at least 1 item`,
		}},
		"what v1alpha1 cannot say": {kind: "ExternalService", metadata: annotated(`{"deletionPolicy":"Explode","ports":[{"name":"a","port":1}],"endpoints":[{"name":"x","addresses":["192.0.2.1","127.0.0.1"],"priority":5},{"name":"y","addresses":["192.0.2.2"],"priority":3}],"resolution":{"minTTL":"5s","maxTTL":"1s"},"healthCheck":{"tcpSocket":{"port":1},"unhealthyInterval":"1x"}}`),
			spec: "{hosts: [192.0.2.2, 192.0.2.1, 127.0.0.1], ports: {a: 1}, probe: {tcpSocket: {port: 1}, periodSeconds: 10, timeoutSeconds: 2, successThreshold: 2, failureThreshold: 3}}", errs: []string{
				`spec.hosts[2]: Invalid value: "127.0.0.1": loopback, unspecified, link-local and multicast link-local addresses are not allowed`,
				`spec: Invalid value: "5s": minTTL must not exceed maxTTL (spec.resolution.minTTL of v1: v1alpha1 cannot express it and keeps it in annotation fairlead.dev/conversion-data, so set it at v1)`,
				`spec.probe: Invalid value: "1x": must be a duration such as 30s, 5m or 1h30m: one to four numbers of at most five digits, each with its unit h, m, s or ms (spec.healthCheck.unhealthyInterval of v1: v1alpha1 cannot express it and keeps it in annotation fairlead.dev/conversion-data, so set it at v1)`,
				`spec: Unsupported value: "Explode": supported values: "Delete", "Orphan" (spec.deletionPolicy of v1: v1alpha1 cannot express it and keeps it in annotation fairlead.dev/conversion-data, so set it at v1)`,
			}},
		"a host twice": {kind: "ExternalService", spec: "{hosts: [192.0.2.1, 192.0.2.1], ports: {a: 1}}",
			warnings: []string{"spec.hosts[1]: 192.0.2.1 is also listed in endpoint \"host-0\""}},
		"policies": {kind: "RebootPolicy", spec: "{target: {kind: Job, name: web}, policies: [{name: up, trigger: {probe: {httpGet: {port: http, httpHeaders: [{name: 'a b', value: c}]}, periodSeconds: 3, timeoutSeconds: 5}}}]}", errs: []string{
			`spec.target.kind: Invalid value: "Job": kind must be Deployment, StatefulSet or DaemonSet, or with group argoproj.io Rollout`,
			`spec.policies[0].trigger.probe.timeoutSeconds: Invalid value: "5s": timeout must not exceed interval`,
			`spec.policies[0].trigger.probe.httpGet.httpHeaders[0].name: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
		}},
		"no name": {kind: "RebootPolicy", spec: "{target: {kind: Deployment}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: 80}}}}]}", errs: []string{`spec.target.name: Invalid value: set exactly one of name or selector`}},
		"no kind": {kind: "RebootPolicy", spec: "{target: {name: web}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: 80}}}}]}", errs: []string{`spec.target.name: Invalid value: "web": kind is required with name`}},
		"warnings": {kind: "RebootPolicy", spec: "{target: {kind: Deployment, name: web}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: 80, host: db.shop.svc}}}}]}", warnings: []string{
			`spec.policies[0].trigger.probe.tcpSocket.host: db.shop.svc resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without host every pod of the target is asked itself`,
		}},
		"triggers that v1alpha1 does not show": {kind: "RebootPolicy", metadata: annotated(`{"targets":[{"kind":"Deployment","name":"web"}],"cooldown":"1m","triggers":[{"name":"s","type":"Schedule","schedule":{"cron":"61 * * * *"}},{"name":"up","type":"Probe","probe":{"tcpSocket":{"port":99999}}}]}`),
			spec: "{target: {kind: Deployment, name: web}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: 99999}, periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 5, successThreshold: 1}}}]}", errs: []string{
				`spec.policies[0].trigger.probe.tcpSocket.port: Invalid value: 99999: must be a port number from 1 to 65535, or the name of a port`,
				`spec.policies: Invalid value: "61 * * * *": minute "61": takes 0-59, *, lists, ranges and steps (spec.triggers[0].schedule.cron of v1: v1alpha1 cannot express it and keeps it in annotation fairlead.dev/conversion-data, so set it at v1)`,
			}},
		"a template": {kind: "ChaosPod", spec: "{template: {metadata: {labels: {'-': x}}, spec: {restartPolicy: Never, containers: [{name: A, image: ' x'}]}}, nextStop: '2027-01-01T00:00:00Z'}", errs: []string{
			`spec.template.metadata.labels: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			`spec.template.spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
			`spec.template.spec.containers[0].image: Invalid value: " x": must not begin or end with white space`,
		}},
		"a workload made a template": {kind: "ChaosPod", metadata: annotated(`{"target":{"workload":{"kind":"Deployment","name":"web"},"selector":{"matchLabels":{"a":"b"}}},"schedule":{"interval":"1h"},"count":"150%"}`),
			spec: "{template: {spec: {containers: []}}}", errs: []string{
				`spec.template: Invalid value: "workload selector": set exactly one of workload, selector, template`,
				`spec: Invalid value: "150%": must be a non-negative integer or a percentage 0%-100% (spec.count of v1: v1alpha1 cannot express it and keeps it in annotation fairlead.dev/conversion-data, so set it at v1)`,
			}},
		"no template": {kind: "ChaosPod", spec: "{}", errs: []string{`spec.template: Invalid value: set exactly one of workload, selector, template`}},
	} {
		t.Run(name, func(t *testing.T) {
			errs, warnings := told(t, test.kind, test.metadata, test.spec)
			if diff := cmp.Diff(test.errs, errs); diff != "" {
				t.Errorf("errors, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Errorf("warnings, -want +got:\n%s", diff)
			}
		})
	}
}
