// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import "github.com/fairlead-dev/fairlead/internal/rules"

// celCase breaks one CEL rule of the CRD, named by where it stands and what it says, and nothing
// else; keep comes as close to breaking it as the rule allows. Both start from the good object of
// that index and set the value at a path; nil removes what is there.
type celCase struct {
	rule  string
	base  int
	broke []change
	keep  []change
}

type change struct {
	path  string
	value any
}

const intOrPercent = "must be a non-negative integer or a percentage 0%-100%"

const (
	workload = iota
	selector
	template
)

func text(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = 'a'
	}
	return string(out)
}

var pod = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx"}}}}

const (
	probe         = "spec.verification.probes[*]"
	anyPort       = "must be a port number from 1 to 65535, or the name of a port"
	numberedPort  = probe + ": port must be a number: a name is that of a container's port"
	duration      = "must be a duration such as 30s, 5m or 1h30m: one to four numbers of at most five digits, each with its unit h, m, s or ms"
	exactlyOne    = probe + ": set exactly one of tcpSocket, httpGet, grpc"
	timesInOrder  = probe + ": timeout must not exceed interval"
	intervalLeast = probe + ".interval: interval must be at least 500ms"
)

var celCases = []celCase{
	{probe + ".httpGet.port: " + anyPort, workload, []change{{"spec.verification.probes.0.httpGet.port", int64(65536)}}, []change{{"spec.verification.probes.0.httpGet.port", int64(65535)}}},
	{probe + ".grpc.port: " + anyPort, selector, []change{{"spec.verification.probes.0.grpc.port", int64(0)}}, []change{{"spec.verification.probes.0.grpc.port", int64(1)}}},
	{probe + ".tcpSocket.port: " + anyPort, template, []change{{"spec.verification.probes.0.tcpSocket.port", int64(-1)}}, []change{{"spec.verification.probes.0.tcpSocket.port", int64(65535)}}},
	{numberedPort, workload, []change{{"spec.verification.probes.0.httpGet.port", "http"}}, nil},
	{numberedPort, selector, []change{{"spec.verification.probes.0.grpc.port", "grpc"}}, nil},
	{numberedPort, template, []change{{"spec.verification.probes.0.tcpSocket.port", "sql"}}, nil},
	{probe + ": port is required", workload, []change{{"spec.verification.probes.0.httpGet.port", nil}}, nil},
	{probe + ": port is required", selector, []change{{"spec.verification.probes.0.grpc.port", nil}}, nil},
	{probe + ": port is required", template, []change{{"spec.verification.probes.0.tcpSocket.port", nil}}, nil},
	{probe + ".httpGet.path: must start with /", workload, []change{{"spec.verification.probes.0.httpGet.path", "cart"}}, []change{{"spec.verification.probes.0.httpGet.path", "/"}}},
	{probe + ".httpGet.expectedStatuses[*]: start must not exceed end", workload,
		[]change{{"spec.verification.probes.0.httpGet.expectedStatuses.0.start", int64(300)}}, []change{{"spec.verification.probes.0.httpGet.expectedStatuses.0.start", int64(299)}}},
	{intervalLeast, workload, []change{{"spec.verification.probes.0.interval", "499ms"}, {"spec.verification.probes.0.timeout", "1ms"}}, []change{{"spec.verification.probes.0.interval", "500ms"}}},
	{probe + ".interval: " + duration, workload, []change{{"spec.verification.probes.0.interval", "1d"}}, []change{{"spec.verification.probes.0.interval", "24h"}}},
	{probe + ".timeout: " + duration, workload, []change{{"spec.verification.probes.0.timeout", "soon"}}, []change{{"spec.verification.probes.0.timeout", "1ms"}}},
	{timesInOrder, workload, []change{{"spec.verification.probes.0.timeout", "501ms"}}, []change{{"spec.verification.probes.0.timeout", "499ms"}}},
	{probe + ".name: must be lower-case letters, digits and hyphens, with a letter or digit at both ends", workload,
		[]change{{"spec.verification.probes.0.name", "Shop"}}, []change{{"spec.verification.probes.0.name", "shop-1"}}},
	{exactlyOne, workload, []change{{"spec.verification.probes.0.httpGet", nil}, {"spec.verification.probes.0.tls", nil}}, nil},
	{exactlyOne, selector, []change{{"spec.verification.probes.0.tcpSocket", map[string]any{"port": int64(1)}}}, nil},
	{probe + ": tls goes with httpGet or grpc", template, []change{{"spec.verification.probes.0.tls", map[string]any{}}}, nil},
	{"(root): name must be at most 52 characters", workload,
		[]change{{"metadata.name", text(53)}}, []change{{"metadata.name", text(52)}}},
	{"spec: count must be 1 with target.template", template,
		[]change{{"spec.count", int64(2)}}, []change{{"spec.count", int64(1)}}},
	{"spec: count must be 1 with target.template", template,
		[]change{{"spec.count", "100%"}}, []change{{"spec.count", nil}}},
	{"spec.target: set exactly one of workload, selector, template", workload,
		[]change{{"spec.target.workload", nil}}, nil},
	{"spec.target: set exactly one of workload, selector, template", selector,
		[]change{{"spec.target.workload", map[string]any{"kind": "DaemonSet", "name": "x"}}}, nil},
	{"spec.target: set exactly one of workload, selector, template", workload,
		[]change{{"spec.target.template", pod}}, []change{{"spec.target.template", pod}, {"spec.target.workload", nil}}},
	{"spec.target.workload: group must be apps or argoproj.io", workload,
		[]change{{"spec.target.workload.group", "batch"}}, []change{{"spec.target.workload.group", nil}}},
	{"spec.target.workload: kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout", workload,
		[]change{{"spec.target.workload.kind", "Job"}}, []change{{"spec.target.workload.kind", "ReplicaSet"}}},
	{"spec.target.workload: kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout", workload,
		[]change{{"spec.target.workload.kind", "Rollout"}}, []change{{"spec.target.workload.kind", "Rollout"}, {"spec.target.workload.group", "argoproj.io"}}},
	{"spec.target.workload: kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout", workload,
		[]change{{"spec.target.workload.group", "argoproj.io"}}, []change{{"spec.target.workload.kind", "Rollout"}, {"spec.target.workload.group", "argoproj.io"}}},
	{"spec.schedule: cron and interval exclude each other", workload,
		[]change{{"spec.schedule.interval", "1h"}}, []change{{"spec.schedule.at", "2026-01-01T00:00:00Z"}}},
	{"spec.schedule: set one of cron, interval, at", selector,
		[]change{{"spec.schedule", map[string]any{}}}, []change{{"spec.schedule.interval", nil}}},
	{"spec.schedule: timeZone goes with cron", selector,
		[]change{{"spec.schedule.timeZone", "UTC"}}, []change{{"spec.schedule.interval", nil}, {"spec.schedule.cron", "@daily"}, {"spec.schedule.timeZone", "UTC"}}},
	{"spec.schedule.cron: use timeZone instead of TZ= or CRON_TZ=", workload,
		[]change{{"spec.schedule.cron", "CRON_TZ=UTC 0 0 * * *"}}, []change{{"spec.schedule.cron", "TZ 0 0 * * *"}}},
	{"spec.schedule.interval: interval must be at least 10s", selector,
		[]change{{"spec.schedule.interval", "9s999ms"}}, []change{{"spec.schedule.interval", "0s10000ms"}}},
	{"spec.verification.timeout: must be at most 24h", workload,
		[]change{{"spec.verification.timeout", "24h1ms"}}, []change{{"spec.verification.timeout", "24h"}}},
	{"spec.verification.timeout: must be at most 24h", workload,
		[]change{{"spec.verification.timeout", "99999h99999h"}}, []change{{"spec.verification.timeout", "30m"}}},
	{"spec.verification.soak: must be at most 24h", workload,
		[]change{{"spec.verification.soak", "87600h"}}, []change{{"spec.verification.soak", "0s"}}},
	{"spec.action: gracePeriodSeconds 0 needs type Delete and allowForceDelete", selector,
		[]change{{"spec.action.allowForceDelete", false}}, []change{{"spec.action.gracePeriodSeconds", int64(1)}, {"spec.action.allowForceDelete", nil}}},
	{"spec.action: gracePeriodSeconds 0 needs type Delete and allowForceDelete", selector,
		[]change{{"spec.action.type", "Evict"}}, []change{{"spec.action.type", "Evict"}, {"spec.action.gracePeriodSeconds", int64(1)}}},
	{"spec.action: gracePeriodSeconds 0 needs type Delete and allowForceDelete", selector,
		[]change{{"spec.action.type", nil}}, []change{{"spec.action.type", nil}, {"spec.action.gracePeriodSeconds", nil}}},
	{"spec.count: " + intOrPercent, workload, []change{{"spec.count", int64(-1)}}, []change{{"spec.count", int64(0)}}},
	{"spec.count: " + intOrPercent, workload, []change{{"spec.count", "101%"}}, []change{{"spec.count", "100%"}}},
	{"spec.count: " + intOrPercent, workload, []change{{"spec.count", "05%"}}, []change{{"spec.count", "0%"}}},
	{"spec.count: " + intOrPercent, workload, []change{{"spec.count", "1"}}, []change{{"spec.count", "1%"}}},
	{"spec.safety.minReady: " + intOrPercent, workload, []change{{"spec.safety.minReady", "half"}}, []change{{"spec.safety.minReady", "99%"}}},
	{"spec.safety.minReady: " + intOrPercent, workload, []change{{"spec.safety.minReady", int64(-5)}}, []change{{"spec.safety.minReady", int64(5)}}},
	{"spec.windows[*].cron: use timeZone instead of TZ= or CRON_TZ=", workload,
		[]change{{"spec.windows.0.cron", "TZ=UTC 0 0 * * *"}}, []change{{"spec.windows.0.cron", "TZ 0 0 * * *"}}},
	{"spec.blackouts[*].cron: use timeZone instead of TZ= or CRON_TZ=", workload,
		[]change{{"spec.blackouts.0.cron", "0 0 * * * TZ="}}, []change{{"spec.blackouts.0.cron", "0 0 * * * tz="}}},
	{"spec.windows[*].duration: duration must be between 1m and 168h", workload,
		[]change{{"spec.windows.0.duration", "59s900ms"}}, []change{{"spec.windows.0.duration", "60s"}}},
	{"spec.windows[*].duration: duration must be between 1m and 168h", workload,
		[]change{{"spec.windows.0.duration", "169h"}}, []change{{"spec.windows.0.duration", "167h60m"}}},
	{"spec.blackouts[*].duration: duration must be between 1m and 168h", workload,
		[]change{{"spec.blackouts.0.duration", "168h1ms"}}, []change{{"spec.blackouts.0.duration", "168h"}}},
	{"spec.blackouts[*].duration: " + rules.DurationMessage, workload, []change{{"spec.blackouts.0.duration", "1d"}}, []change{{"spec.blackouts.0.duration", "24h"}}},
	{"spec.windows[*].duration: " + rules.DurationMessage, workload, []change{{"spec.windows.0.duration", "1d"}}, []change{{"spec.windows.0.duration", "24h"}}},
	{"spec.filter.minAge: " + rules.DurationMessage, workload, []change{{"spec.filter.minAge", "100000h"}}, []change{{"spec.filter.minAge", "24h"}}},
	{"spec.schedule.startingDeadline: " + rules.DurationMessage, workload, []change{{"spec.schedule.startingDeadline", "1.5h"}}, []change{{"spec.schedule.startingDeadline", "24h"}}},
	{"spec.verification.timeout: " + rules.DurationMessage, workload, []change{{"spec.verification.timeout", "1d"}}, []change{{"spec.verification.timeout", "24h"}}},
	{"spec.verification.soak: " + rules.DurationMessage, workload, []change{{"spec.verification.soak", "1h1h1h1h1h"}}, []change{{"spec.verification.soak", "1h1h1h1h"}}},
	{"spec.schedule.interval: " + rules.DurationMessage, selector, []change{{"spec.schedule.interval", "5 s"}}, []change{{"spec.schedule.interval", "5m"}}},
	{"spec.schedule.timeZone: timeZone must be an IANA name, not Local", workload,
		[]change{{"spec.schedule.timeZone", "local"}}, []change{{"spec.schedule.timeZone", "Localtime"}}},
	{"spec.windows[*].name: " + rules.NameMessage, workload, []change{{"spec.windows.0.name", "-a"}}, []change{{"spec.windows.0.name", "0-a"}}},
	{"spec.blackouts[*].name: " + rules.NameMessage, workload, []change{{"spec.blackouts.0.name", "a.b"}}, []change{{"spec.blackouts.0.name", "a"}}},
	{"spec.windows[*].timeZone: timeZone must be an IANA name, not Local", workload,
		[]change{{"spec.windows.0.timeZone", "lOcAl"}}, []change{{"spec.windows.0.timeZone", "Locality"}}},
	{"spec.blackouts[*].timeZone: timeZone must be an IANA name, not Local", workload,
		[]change{{"spec.blackouts.0.timeZone", "Local"}}, []change{{"spec.blackouts.0.timeZone", nil}}},
}

// transitionCases break the rules that compare with the stored object: from one good object to
// another.
var transitionCases = []struct {
	rule     string
	from, to int
	refused  bool
}{
	{"spec: target.template cannot be added or removed", workload, template, true},
	{"spec: target.template cannot be added or removed", template, selector, true},
	{"spec: target.template cannot be added or removed", workload, selector, false},
	{"spec: target.template cannot be added or removed", template, template, false},
}
