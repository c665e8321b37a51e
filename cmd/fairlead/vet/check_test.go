// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// head makes the first two lines of an object, and its metadata.
func head(apiVersion, kind string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a, namespace: shop}\n"
}

var (
	external      = head("networking.fairlead.dev/v1", "ExternalService")
	externalAlpha = head("networking.fairlead.dev/v1alpha1", "ExternalService")
	rebootAlpha   = head("autoreboot.fairlead.dev/v1alpha1", "RebootPolicy")
	chaos         = head("chaos.fairlead.dev/v1", "ChaosPod")
	chaosAlpha    = head("chaos.fairlead.dev/v1alpha1", "ChaosPod")
)

const plainExternal = "spec: {ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}\n"

const unchecked = "1:1 warning unchecked : further rules were not checked: correct the errors of this object first"

func TestFindingsSayWhereAndWhatAndWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string
	}{
		"good": {external + plainExternal, nil},
		"a slip in a name": {external + "spec:\n  ports: [{name: sql, port: 5432}]\n  endpoints:\n  - {name: a, addresses: [192.0.2.1], zoen: x}\n", []string{
			"7:39 error unknown-field spec.endpoints[0].zoen: unknown field; did you mean zone?"}},
		"an unknown field": {external + strings.Replace(plainExternal, "sql,", "sql, shade: red,", 1), []string{
			"4:28 error unknown-field spec.ports[0].shade: unknown field; the fields here are appProtocol, name, port, protocol, targetPort"}},
		"a field of the other version": {external + strings.Replace(plainExternal, "{ports", "{probe: {}, ports", 1), []string{
			"4:8 error unknown-field spec.probe: unknown field; it exists only at networking.fairlead.dev/v1alpha1"}},
		"fields of a container's probe": {external + strings.Replace(plainExternal, "{ports", "{healthCheck: {httpGet: {host: a}, periodSeconds: 5}, ports", 1), []string{
			"4:32 error unknown-field spec.healthCheck.httpGet.host: unknown field; write hostHeader for the header Host; it does not change what is connected to",
			`4:42 error unknown-field spec.healthCheck.periodSeconds: unknown field; write interval with a unit, such as "10s"`}},
		"a headless Service by its former name": {external + strings.Replace(plainExternal, "{ports", "{service: {type: Headless}, ports", 1), []string{
			"4:18 error unknown-field spec.service.type: unknown field; write clusterIP: None for a headless Service; without it, the Service has a cluster IP"}},
		"a number in quotes": {external + strings.Replace(plainExternal, "5432", "'5432'", 1), []string{
			unchecked, "4:28 error schema spec.ports[0].port: must be an integer, not a string; if it is in quotes, remove them"}},
		"YAML's own booleans": {external + strings.Replace(plainExternal, "name: a,", "name: y,", 1), []string{
			unchecked, "4:55 error schema spec.endpoints[0].name: must be a string, not a boolean; put it in quotes: YAML takes y, n, yes, no, on and off for booleans, too"}},
		"labels that are no strings": {strings.Replace(external, "{name", "{labels: {b: 1, a: off}, name", 1) + plainExternal, []string{
			"3:21 error metadata metadata.labels[b]: must be a string, not 1; put it in quotes",
			"3:27 error metadata metadata.labels[a]: must be a string, not false; put it in quotes"}},
		"a name that is none": {strings.Replace(external, "name: a", "name: A_b", 1) + plainExternal, []string{
			`3:12 error metadata metadata.name: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com')`}},
		"no name": {"apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\n" + plainExternal, []string{
			"1:1 error metadata metadata.name: name or generateName is required"}},
		"a name that is generated": {strings.Replace(external, "name: a", "generateName: a-", 1) + plainExternal, nil},
		"metadata of another type": {"apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: [a]\n" + plainExternal, []string{
			"3:1 error metadata metadata: must be an object, not a list"}},
		"a time that is none": {strings.Replace(external, "{name", "{creationTimestamp: soon, name", 1) + plainExternal, []string{
			`3:12 error metadata metadata.creationTimestamp: parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"`}},
		"nothing but a type": {strings.Replace(external, "{name: a, namespace: shop}", "{name: a}", 1), []string{
			"1:1 error schema spec: is required; add it", unchecked}},
		"a key twice": {external + strings.Replace(plainExternal, "name: sql,", "name: sql, name: http,", 1), []string{
			"4:28 error duplicate-key spec.ports[0].name: is given twice, first in line 4; remove one of them"}},
		"a status does not count":   {external + plainExternal + "status: {activePriority: -7}\n", nil},
		"a field of status does":    {external + plainExternal + "status: {activePriorty: 0}\n", []string{"5:10 error unknown-field status.activePriorty: unknown field; did you mean activePriority?"}},
		"an unserved version":       {head("chaos.fairlead.dev/v2", "ChaosPod"), []string{"1:1 error api-version apiVersion: ChaosPod is not served at \"v2\"; use chaos.fairlead.dev/v1"}},
		"no version":                {"kind: ChaosPod\n", []string{"1:1 error api-version apiVersion: is missing; that of Fairlead's ChaosPod is chaos.fairlead.dev/v1"}},
		"a group that there is not": {head("network.fairlead.dev/v1", "ExternalService"), []string{"1:1 error api-version apiVersion: there is no ExternalService in \"network.fairlead.dev\"; use networking.fairlead.dev/v1"}},
		"a kind that there is not": {head("chaos.fairlead.dev/v1", "Chaospod"), []string{"1:1 error api-version apiVersion: there is no \"Chaospod\" in \"chaos.fairlead.dev\"; " +
			"the kinds are networking.fairlead.dev/v1 ExternalService, autoreboot.fairlead.dev/v1 RebootPolicy, autoreboot.fairlead.dev/v1 ClusterRebootPolicy, chaos.fairlead.dev/v1 ChaosPod"}},
		"cron that never fires": {chaos + "spec: {target: {workload: {kind: Deployment, name: web}}, schedule: {cron: \"61 * * * *\"}}\n", []string{
			`4:70 error rule spec.schedule.cron: "61 * * * *": minute "61": takes 0-59, *, lists, ranges and steps`}},
		"advice": {external + "spec: {service: {clusterIP: None}, ports: [{name: sql, port: 5432, targetPort: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}]}\n", []string{
			"4:44 warning advice spec.ports[0]: a headless Service does not translate ports: clients must connect to 1, not 5432"}},
		"a period of v1alpha1 that cannot be read": {externalAlpha + "spec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}], probe: {tcpSocket: {port: 1}, interval: 5}}\n", []string{
			`4:115 error schema spec.probe.interval: durations need a unit: write "5s"`}},
		"policies of v1alpha1": {rebootAlpha + "spec:\n  cooldown: 10m\n  targets: [{kind: Deployment, name: a}]\n  policies:\n  - name: p\n    type: Probe\n    probe: {httpGet: {port: http}, interval: 3s, timeout: 5s}\n", []string{
			`10:50 error schema spec.policies[0].probe.timeout: "5s": timeout must not exceed interval`}},
		"a template of v1alpha1": {chaosAlpha + "spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: []\n", []string{
			"8:7 error rule spec.template.spec.containers: is required: a pod needs at least one container"}},
		"a field that no pod template has": {chaosAlpha + "spec:\n  template:\n    spec:\n      containers: [{name: a, image: b, prots: []}]\n", []string{
			"7:40 error rule spec.template.spec.containers[0].prots: is not allowed: a pod template has no such field; see `kubectl explain pod.spec`"}},
		"a value that no pod template has": {chaos + "spec:\n  target:\n    template:\n      spec: {containers: web}\n", []string{
			"1:1 warning unchecked : further rules were not checked: correct the errors of this object first",
			"7:14 error rule spec.target.template.spec.containers: is a string, which does not fit there; see `kubectl explain pod.spec`"}},
		"text that is no object":   {"just words\n", nil},
		"a template of another":    {"{{ if .Values.x }}\na: {{ x }}\n", []string{"2:1 warning syntax : looks like a Helm template: run `helm template . | fairlead vet -` instead (skipped: it does not mention fairlead.dev)"}},
		"broken and ours":          {external + "spec: {\n", []string{"4:1 error syntax : not YAML: did not find expected node content"}},
		"the operator's own file":  {"apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n", nil},
		"another group's ChaosPod": {head("chaos.example.com/v1", "ChaosPod"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects, _ := run(t, text(test.content))
			if diff := cmp.Diff(test.want, lines(objects)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestListsAreReadItemByItem(t *testing.T) {
	workload := "spec: {target: {workload: {kind: Deployment, name: web}}, schedule: {interval: %s}}"
	content := "apiVersion: v1\nkind: List\nitems:\n" +
		"- {apiVersion: v1, kind: Secret}\n" +
		"- apiVersion: chaos.fairlead.dev/v1\n  kind: ChaosPodList\n  items:\n" +
		"  - metadata: {name: one}\n    " + fmt.Sprintf(workload, "1h") + "\n" +
		"  - metadata: {name: two}\n    " + fmt.Sprintf(workload, "1s") + "\n" +
		"- 5\n"
	objects, summary := run(t, text(content))
	want := []string{
		"11:15 warning overlap spec.target.workload: ChaosPod one acts on Deployment web already; each counts its own limits, so together they kill more often than either says",
		`11:74 error schema spec.schedule.interval: "1s": interval must be at least 10s`,
	}
	if len(objects) == 2 {
		// The column of an overlap is that of the workload.
		want[0] = strings.Replace(want[0], "11:15", fmt.Sprintf("11:%d", objects[1].Findings[0].Column), 1)
	}
	if diff := cmp.Diff(want, lines(objects)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Summary{Files: 1, Documents: 1, Objects: 2, PassedOver: 2, Errors: 1, Warnings: 1}, summary); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameObjectTwiceIsAWarning(t *testing.T) {
	objects, _ := run(t, text(external+plainExternal+"---\n"+external+plainExternal+"---\n"+externalAlpha+plainExternal))
	want := []string{
		"6:1 warning duplicate-object : is given twice, first at f.yaml:1; where both are applied, the later one wins",
		"11:1 warning duplicate-object : is given twice, first at f.yaml:1; where both are applied, the later one wins",
	}
	if diff := cmp.Diff(want, lines(objects)); diff != "" {
		t.Error(diff)
	}
}

func TestFindingsOfAnObjectAreBounded(t *testing.T) {
	objects, _ := run(t, text(external+"spec: {ports: ["+strings.Repeat("{name: 1}, ", 100)+"], endpoints: [{name: a, addresses: [192.0.2.1]}]}\n"))
	if n := len(objects[0].Findings); n != maxFindings+1 || !strings.HasPrefix(objects[0].Findings[n-1].Message, "and ") {
		t.Errorf("%d findings, %+v", n, objects[0].Findings[n-1])
	}
}
