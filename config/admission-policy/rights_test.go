// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"
	"strings"
	"testing"
)

const digest = `","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}`

func by(user string) string { return `{"user":"` + user + digest }

const approved = "fairlead.dev/approved-by"

func TestNoUserApprovesInAnothersNameOrWithoutTheRights(t *testing.T) {
	s := newScene(t, "ExternalService")
	const spec = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [10.0.0.1]}]}`
	both := []string{"create services", "create endpointslices"}
	for name, c := range map[string]struct {
		object, old map[string]any
		user        string
		rights      []string
		want        string
	}{
		"no claim":                 {s.object(spec), nil, "", nil, ""},
		"own name and rights":      {s.object(spec, approved, by("ann")), nil, "", both, ""},
		"a ServiceAccount":         {s.object(spec, approved, by("system:serviceaccount:shop:ci")), nil, "system:serviceaccount:shop:ci", both, ""},
		"another's name":           {s.object(spec, approved, by("bob")), nil, "", both, "in your own name"},
		"a longer name":            {s.object(spec, approved, by("anna")), nil, "", both, "in your own name"},
		"any word":                 {s.object(spec, approved, "please"), nil, "", both, "in your own name"},
		"one right":                {s.object(spec, approved, by("ann")), nil, "", both[:1], "you may not create endpointslices"},
		"no right":                 {s.object(spec, approved, by("ann")), nil, "", nil, "you may not create services"},
		"what stood":               {s.object(spec, approved, by("bob")), s.object(spec, approved, by("bob")), "", nil, ""},
		"what stood, changed":      {s.object(spec, approved, by("ann")), s.object(spec, approved, by("bob")), "", both, ""},
		"taken away":               {s.object(spec), s.object(spec, approved, by("bob")), "", nil, ""},
		"a name that JSON escapes": {s.object(spec, approved, by(`\u003cann\u003e`)), nil, "<ann>", both, ""},
		"a shortened name":         {s.object(spec, approved, by("x...#1")), nil, strings.Repeat("x", 300), both, ""},
	} {
		s.wants(name, s.evaluate(Request{Object: c.object, Old: c.old, User: c.user, Rights: only(nil, c.rights...)}), c.want)
	}
}

func TestASecretIsReadForThoseWhoMayReadIt(t *testing.T) {
	s := newScene(t, "ExternalService")
	spec := func(secret string, suspend bool) map[string]any {
		return s.object(fmt.Sprintf(`{suspend: %t, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {http: {}, tls: {caSecretName: %s}}}`, suspend, secret))
	}
	const says = "spec.healthCheck.tls.caSecretName"
	s.wants("new", s.evaluate(Request{Object: spec("roots", false), Rights: only(nil)}), says)
	s.wants("new, with the right", s.evaluate(Request{Object: spec("roots", false), Rights: only(nil, "get secrets roots")}), "")
	s.wants("another", s.evaluate(Request{Object: spec("other", false), Old: spec("roots", false), Rights: only(nil, "get secrets roots")}), says)
	s.wants("resumed", s.evaluate(Request{Object: spec("roots", false), Old: spec("roots", true), Rights: only(nil)}), says)
	s.wants("suspended", s.evaluate(Request{Object: spec("roots", true), Old: spec("roots", false), Rights: only(nil)}), "")
}

func TestAFaultIsInjectedByThoseWhoMayUpdateEndpointSlices(t *testing.T) {
	s := newScene(t, "ExternalService")
	const spec, annotation = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`, "networking.fairlead.dev/inject-fault"
	const one, other = "BlackHole for=10m at=2026-03-02T14:00:00Z", "BlackHole for=10m at=2026-03-02T15:00:00Z"
	const says, right = "you may not update endpointslices", "update endpointslices"
	for name, c := range map[string]struct {
		object, old map[string]any
		rights      []string
		want        string
	}{
		"new":                 {s.object(spec, annotation, one), nil, nil, says},
		"new, with the right": {s.object(spec, annotation, one), nil, []string{right}, ""},
		"added":               {s.object(spec, annotation, one), s.object(spec), nil, says},
		"changed":             {s.object(spec, annotation, other), s.object(spec, annotation, one), nil, says},
		"as it was":           {s.object(spec, annotation, one), s.object(spec, annotation, one), nil, ""},
		"removed":             {s.object(spec), s.object(spec, annotation, one), nil, ""},
		"emptied":             {s.object(spec, annotation, ""), s.object(spec, annotation, one), nil, ""},
	} {
		s.wants(name, s.evaluate(Request{Object: c.object, Old: c.old, Rights: only(nil, c.rights...)}), c.want)
	}
}

const policy = `{targets: [{kind: Deployment, name: web}, {kind: StatefulSet, selector: {matchLabels: {app: db}}}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}]}`

func TestARestartTakesTheRightsOfTheWriter(t *testing.T) {
	s := newScene(t, "RebootPolicy")
	patch := []string{"patch deployments web", "patch statefulsets"}
	with := func(extra string) string { return strings.TrimSuffix(policy, "}") + ", " + extra + "}" }
	evict := with("strategy: {type: Evict}")
	account := with("serviceAccountName: restarter")
	exec := strings.Replace(policy, `{name: weekly,`, `{name: run, type: Probe, probe: {exec: {command: [/check]}}}, {name: weekly,`, 1)
	for name, c := range map[string]struct {
		spec, old string
		rights    []string
		want      string
	}{
		"all rights":                      {policy, "", patch, ""},
		"one target":                      {policy, "", patch[1:], "spec.targets[0]: you may not patch"},
		"a name does not do for all":      {policy, "", append(patch[:1:1], "patch statefulsets db"), "spec.targets[1]: you may not patch"},
		"evictions":                       {evict, "", []string{"create pods/eviction", "get pods"}, ""},
		"evictions, blindly":              {evict, "", []string{"create pods/eviction"}, "may not get pods"},
		"evictions, without":              {evict, "", append(patch, "get pods"), "may not create pods/eviction"},
		"in an account's name":            {account, "", []string{"impersonate serviceaccounts restarter", "get deployments web", "list statefulsets"}, ""},
		"in another's name":               {account, "", append(patch, "get deployments web", "list statefulsets"), "may not impersonate"},
		"what may not be seen":            {account, "", []string{"impersonate serviceaccounts restarter", "get deployments web"}, "spec.targets[1]: you may not read"},
		"commands":                        {exec, "", patch, "may not create pods/exec"},
		"commands, with the right":        {exec, "", append(patch, "create pods/exec"), ""},
		"commands that stood":             {with("cooldown: 20m"), policy, nil, ""},
		"the cron of what stood":          {strings.Replace(policy, "0 3", "0 4", 1), policy, nil, ""},
		"another target":                  {strings.Replace(policy, "web", "api", 1), policy, patch, "spec.targets[0]: you may not patch"},
		"targets in another order":        {`{targets: [{kind: StatefulSet, selector: {matchLabels: {app: db}}}, {kind: Deployment, name: web}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}]}`, policy, nil, ""},
		"to be woken":                     {policy, with("suspend: true"), nil, "spec.targets[0]: you may not patch"},
		"to be acted on":                  {with("dryRun: false"), with("dryRun: true"), nil, "spec.targets[0]: you may not patch"},
		"to sleep":                        {with("suspend: true"), policy, nil, ""},
		"evictions instead of rollouts":   {evict, policy, patch, "may not create pods/eviction"},
		"rollouts instead of evictions":   {policy, evict, []string{"create pods/eviction", "get pods"}, "spec.targets[0]: you may not patch"},
		"the operator's own name again":   {policy, account, []string{"impersonate serviceaccounts restarter", "get deployments web", "list statefulsets"}, "may not patch"},
		"another account than that stood": {with("serviceAccountName: admin"), account, []string{"get deployments web", "list statefulsets"}, "may not impersonate"},
	} {
		r := Request{Object: s.object(c.spec), Rights: only(nil, c.rights...)}
		if c.old != "" {
			r.Old = s.object(c.old)
		}
		s.wants(name, s.evaluate(r), c.want)
	}
}

func TestWhatIsReadTakesTheRightToReadIt(t *testing.T) {
	s := newScene(t, "RebootPolicy")
	const spec = `{targets: [{kind: Deployment, name: web}], triggers: [
		{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: web-tls}},
		{name: config, type: ConfigChange, configChange: {sources: [{kind: Secret, name: creds}, {kind: ConfigMap, selector: {matchLabels: {app: web}}}]}}]}`
	all := []string{"patch deployments web", "get secrets web-tls", "get secrets creds", "list configmaps"}
	s.wants("all rights", s.evaluate(Request{Object: s.object(spec), Rights: only(nil, all...)}), "")
	for i, want := range []string{"spec.targets[0]", "spec.triggers[0].certificateRenewal.secretName", "spec.triggers[1].configChange.sources", "spec.triggers[1].configChange.sources"} {
		rights := append(all[:i:i], all[i+1:]...)
		s.wants("without "+all[i], s.evaluate(Request{Object: s.object(spec), Rights: only(nil, rights...)}), want)
	}
	s.wants("keys and optional", s.evaluate(Request{Object: s.object(strings.Replace(spec, "name: creds", "name: creds, optional: true", 1)), Old: s.object(spec), Rights: only(nil)}), "")
	s.wants("another Secret", s.evaluate(Request{Object: s.object(strings.Replace(spec, "name: creds", "name: root", 1)), Old: s.object(spec), Rights: only(nil)}), "sources")
	s.wants("a claim", s.evaluate(Request{Object: s.object(spec, approved, by("ann")), Old: s.object(spec), Rights: only(nil)}), "certificateRenewal")
}

func TestAGateTakesTheRightToReadWhatItIsAbout(t *testing.T) {
	s := newScene(t, "RebootPolicy")
	with := func(gates string) map[string]any {
		return s.object(strings.TrimSuffix(policy, "}") + ", gates: [" + gates + "]}")
	}
	patch := []string{"patch deployments web", "patch statefulsets"}
	for name, c := range map[string]struct{ gate, right, other string }{
		"pods":            {"{type: NoPods, selector: {matchLabels: {app: job}}}", "list pods", "get pods"},
		"ExternalService": {"{type: ExternalServiceHealthy, name: db}", "get externalservices db", "get externalservices"},
		"workload":        {"{type: WorkloadAvailable, kind: DaemonSet, name: agent}", "get daemonsets agent", "get deployments agent"},
		"ChaosPod":        {"{type: ChaosSurvived, name: drill}", "get chaospods drill", "get s drill"},
	} {
		s.wants(name, s.evaluate(Request{Object: with(c.gate), Rights: only(nil, append(patch, c.right)...)}), "")
		s.wants(name+", without", s.evaluate(Request{Object: with(c.gate), Rights: only(nil, append(patch, c.other)...)}), "spec.gates[0]: you may not read")
		s.wants(name+", that stood", s.evaluate(Request{Object: with(c.gate), Old: with(c.gate), Rights: only(nil)}), "")
		s.wants(name+", added", s.evaluate(Request{Object: with(c.gate), Old: s.object(policy), Rights: only(nil)}), "spec.gates[0]: you may not read")
	}
	gates := strings.Repeat("{type: ChaosSurvived, name: drill}, ", askedGates)
	s.wants("as many as there may be", s.evaluate(Request{Object: with(gates), Rights: only(nil, append(patch, "get chaospods drill")...)}), "")
}

func TestAServiceIsTakenOverForThoseWhoMayUpdateIt(t *testing.T) {
	s := newScene(t, "ExternalService")
	const spec, annotation = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`, "networking.fairlead.dev/adopt-service"
	const says = "you may not update the Service"
	s.wants("new", s.evaluate(Request{Object: s.object(spec, annotation, "true"), Rights: only(nil)}), says)
	s.wants("with the right", s.evaluate(Request{Object: s.object(spec, annotation, "true"), Rights: only(nil, "update services one")}), "")
	s.wants("added", s.evaluate(Request{Object: s.object(spec, annotation, "true"), Old: s.object(spec), Rights: only(nil)}), says)
	s.wants("that stood", s.evaluate(Request{Object: s.object(spec, annotation, "true"), Old: s.object(spec, annotation, "true"), Rights: only(nil)}), "")
	s.wants("another value", s.evaluate(Request{Object: s.object(spec, annotation, "no"), Rights: only(nil)}), "")
}

func TestNoCredentialsAreSentToAnotherHost(t *testing.T) {
	s := newScene(t, "RebootPolicy")
	probing := func(probe string) map[string]any {
		return s.object(strings.Replace(policy, "triggers: [", "cooldown: 10m, triggers: [{name: web, type: Probe, probe: {httpGet: {"+probe+"}}}, ", 1))
	}
	const says = "are not sent to another host than the pods"
	patch := only(nil, "patch deployments web", "patch statefulsets")
	foreign := probing("host: api.example.com, port: 443, headers: [{name: cOOkie, value: x}]")
	s.wants("a cookie", s.evaluate(Request{Object: foreign, Rights: patch}), says)
	s.wants("a token", s.evaluate(Request{Object: probing("host: 192.0.2.1, port: 80, headers: [{name: Accept, value: x}, {name: authorization, value: x}]"), Old: s.object(policy), Rights: patch}), says)
	s.wants("that stood", s.evaluate(Request{Object: foreign, Old: foreign, Rights: patch}), "")
	s.wants("to its pods", s.evaluate(Request{Object: probing("port: 80, headers: [{name: Authorization, value: x}]"), Rights: patch}), "")
	s.wants("other headers", s.evaluate(Request{Object: probing("host: 192.0.2.1, port: 80, headers: [{name: Accept, value: x}]"), Rights: patch}), "")
}

func TestAPolicyThatRestartsForFaultsTakesItsRights(t *testing.T) {
	s := newScene(t, "RebootPolicy")
	const annotation = "autoreboot.fairlead.dev/on-injected-fault"
	s.wants("set", s.evaluate(Request{Object: s.object(policy, annotation, "Restart"), Old: s.object(policy), Rights: only(nil)}), "spec.targets[0]: you may not patch")
	s.wants("that stood", s.evaluate(Request{Object: s.object(policy, annotation, "Restart"), Old: s.object(policy, annotation, "Restart"), Rights: only(nil)}), "")
	s.wants("held", s.evaluate(Request{Object: s.object(policy, annotation, "Hold"), Old: s.object(policy, annotation, "Restart"), Rights: only(nil)}), "")
}

func TestChaosTakesTheRightToEndPods(t *testing.T) {
	s := newScene(t, "ChaosPod")
	of := func(rest string) string {
		return `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}` + rest + `}`
	}
	canary := `{target: {template: {spec: {containers: [{name: c, image: nginx}]}}}, schedule: {interval: 1h}, action: {type: Delete}}`
	for name, c := range map[string]struct {
		spec, old, right, want string
	}{
		"evict":            {of(""), "", "create pods/eviction,get pods", ""},
		"evict, blindly":   {of(""), "", "create pods/eviction", "may not read pods"},
		"evict, without":   {of(""), "", "delete pods", "may not create pods/eviction"},
		"delete":           {of(", action: {type: Delete}"), "", "delete pods,get pods", ""},
		"delete, without":  {of(", action: {type: Delete}"), "", "create pods/eviction", "may not delete pods"},
		"canary, without":  {canary, "", "delete pods", "may not create pods in"},
		"canary, killing":  {canary, "", "create pods", "may not delete pods in"},
		"account":          {of(", serviceAccountName: robot"), "", "impersonate serviceaccounts robot,list pods", ""},
		"account, blindly": {of(", serviceAccountName: robot"), "", "impersonate serviceaccounts robot,get pods", "may not read pods"},
		"account, without": {of(", serviceAccountName: robot"), "", "create pods/eviction", "may not impersonate"},
		"another account":  {of(", serviceAccountName: robot"), of(", serviceAccountName: maid"), "", "may not impersonate"},
		"count":            {of(", count: 2"), of(""), "", ""},
		"for earnest":      {of(", dryRun: false"), of(", dryRun: true"), "", "may not create pods/eviction"},
		"for earnest, where no default is stored": {of(", dryRun: false"), of(""), "", "may not create pods/eviction"},
		"another target": {strings.Replace(of(""), "web", "api", 1), of(""), "", "may not create pods/eviction"},
	} {
		r := Request{Object: s.object(c.spec), Rights: only(nil, strings.Split(c.right, ",")...)}
		if c.old != "" {
			r.Old = s.object(c.old)
		}
		s.wants(name, s.evaluate(r), c.want)
	}
}

// The largest policy asks no more than the API server lets it: beyond that it would refuse everybody.
func TestTheLargestObjectStaysWithinTheBoundsOfCost(t *testing.T) {
	s := newScene(t, "RebootPolicy")
	var targets, triggers []string
	for i := range 32 {
		targets = append(targets, fmt.Sprintf("{kind: Deployment, name: web-%d}", i))
	}
	for i := range 8 {
		triggers = append(triggers, fmt.Sprintf("{name: c-%d, type: CertificateRenewal, certificateRenewal: {secretName: tls-%d}}", i, i),
			fmt.Sprintf("{name: s-%d, type: ConfigChange, configChange: {sources: [{kind: Secret, name: a-%d}, {kind: Secret, name: b-%d}]}}", i, i, i))
	}
	spec := fmt.Sprintf("{serviceAccountName: restarter, targets: [%s], triggers: [%s]}", strings.Join(targets, ", "), strings.Join(triggers, ", "))
	var asked []string
	allow := only(&asked)
	s.evaluate(Request{Object: s.object(spec), Rights: allow, Version: "v1alpha1"})
	if len(asked) < askedTargets+askedTriggers {
		t.Errorf("%d rights were asked about: %q", len(asked), asked)
	}
	s.wants("allowed", s.evaluate(Request{Object: s.object(spec), Version: "v1alpha1"}), "")
}
