// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
)

// note returns the only annotation of an object.
func note(key, value string) map[string]string { return map[string]string{key: value} }

const approvedBy = "fairlead.dev/approved-by"

// approvalBy is a forged approval by a user.
func approvalBy(user string) string { return strings.Replace(forged, "ann", user, 1) }

func annotationCases() map[string]policyCase {
	const rights = "create services,create endpointslices.discovery.k8s.io"
	claim := func(user, approval, refusal string) policyCase {
		return policyCase{kind: externalServices, spec: database, annotations: note(approvedBy, approval), user: user, rights: rights, refusal: refusal}
	}
	const another = "[fairlead.dev/approved-by]: only Fairlead's mutating webhook writes it, in your own name"
	moved := strings.Replace(database, "5432", "5433", 1)
	return map[string]policyCase{
		"no-claim":           {kind: externalServices, spec: database},
		"own-name":           claim("", forged, ""),
		"own-account":        claim("system:serviceaccount:shop:ci", approvalBy("system:serviceaccount:shop:ci"), ""),
		"escaped-name":       claim("<ann>", approvalBy(`\u003cann\u003e`), ""),
		"shortened-name":     claim(strings.Repeat("x", 300), approvalBy("x...#1"), ""),
		"another-name":       claim("", approvalBy("bob"), another),
		"longer-name":        claim("", approvalBy("anna"), another),
		"a-word":             claim("", "please", another),
		"more-after-it":      claim("", forged+" ", another),
		"a-long-claim":       claim("", `{"user":"ann","digest":"`+strings.Repeat("x", 3000), another),
		"claim-of-a-restart": {kind: rebootPolicies, spec: restart, annotations: note(approvedBy, approvalBy("bob")), rights: "patch deployments.apps web", refusal: another},
		"claim-of-chaos":     {kind: chaosPods, spec: drill, annotations: note(approvedBy, approvalBy("bob")), rights: "create pods/eviction,get pods", refusal: another},
		"kept-claim":         {kind: externalServices, spec: moved, old: database, annotations: note(approvedBy, approvalBy("bob")), stored: note(approvedBy, approvalBy("bob"))},
		"removed-claim":      {kind: externalServices, spec: database, old: database, stored: note(approvedBy, approvalBy("bob"))},
		"stolen-claim":       {kind: externalServices, spec: database, old: database, annotations: note(approvedBy, approvalBy("eve")), stored: note(approvedBy, approvalBy("bob")), rights: rights, refusal: another},
		"own-claim-instead":  {kind: externalServices, spec: database, old: database, annotations: note(approvedBy, forged), stored: note(approvedBy, approvalBy("bob")), rights: rights},
	}
}

func nameCases() map[string]policyCase {
	cases := map[string]policyCase{
		"with.dot": {kind: externalServices, spec: database, refusal: "DNS label"}, "1st": {kind: externalServices, spec: database, refusal: "DNS label"},
		"a-1": {kind: externalServices, spec: database}, "old.dot": {kind: externalServices, spec: strings.Replace(database, "5432", "5433", 1), old: database},
		"reserved-before": {kind: externalServices, spec: strings.Replace(reserved, "5432", "5433", 1), old: reserved},
		"reserved-less":   {kind: externalServices, spec: strings.Replace(reserved, "service.kubernetes.io/service-proxy-name: mine, ", "", 1), old: reserved},
		"reserved-more":   {kind: externalServices, spec: strings.Replace(reserved, "labels: {", "labels: {k8s.io/x: z, ", 1), old: reserved, refusal: "choose another key"},
	}
	for i, labels := range []string{"service.kubernetes.io/service-proxy-name: mine", "kubernetes.io/x: z", "app.kubernetes.io/managed-by: me", "fairlead.dev/x: z"} {
		cases[fmt.Sprintf("reserved-label-%d", i)] = policyCase{kind: externalServices, spec: strings.TrimSuffix(database, "}") + ", service: {labels: {" + labels + "}}}", refusal: "spec.service.labels: a label of"}
	}
	for i, labels := range []string{"team: a, example.com/team: b, app.kubernetes.io/part-of: c", "notkubernetes.io/x: z, a-k8s.io: b"} {
		cases[fmt.Sprintf("free-label-%d", i)] = policyCase{kind: externalServices, spec: strings.TrimSuffix(database, "}") + ", service: {labels: {" + labels + "}}}"}
	}
	named := func(names ...string) string {
		var endpoints []string
		for i, name := range names {
			endpoints = append(endpoints, fmt.Sprintf("{name: e%d, dns: {name: %q}}", i, name))
		}
		return "{ports: [{name: sql, port: 5432}], endpoints: [" + strings.Join(endpoints, ", ") + "]}"
	}
	for i, name := range []string{"0x7f.1", "a.0XFF.", "1.2.3"} {
		cases[fmt.Sprintf("number-%d", i)] = policyCase{kind: externalServices, spec: named("db.example.com", name), refusal: "dns.name: the last label must not be a number"}
	}
	for i, name := range []string{"localhost.", "a.LocalHost."} {
		cases[fmt.Sprintf("local-%d", i)] = policyCase{kind: externalServices, spec: named("db.example.com", name), refusal: "dns.name: in-cluster and localhost names"}
	}
	for i, name := range []string{"DB.example.com", "notlocalhost.", "a1.b2"} {
		cases[fmt.Sprintf("name-%d", i)] = policyCase{kind: externalServices, spec: named(name)}
	}
	cases["number-before"] = policyCase{kind: externalServices, spec: named("db.example.com", "0x7f.1"), old: named("0x7f.1")}
	cases["number-beside"] = policyCase{kind: externalServices, spec: named("0x7f.1", "0x7f.2"), old: named("0x7f.1"), refusal: "last label"}
	return cases
}

func publishingCases() map[string]policyCase {
	const services, slices = "create services", "create endpointslices.discovery.k8s.io"
	const fault, adopt = "networking.fairlead.dev/inject-fault", "networking.fairlead.dev/adopt-service"
	const blackHole = "BlackHole for=10m at=2026-03-02T14:00:00Z"
	later := strings.Replace(blackHole, "14", "15", 1)
	secret := func(name string, suspend bool) string {
		return fmt.Sprintf(`{suspend: %t, ports: [{name: web, port: 443}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {httpGet: {}, tls: {caSecretName: %s}}}`, suspend, name)
	}
	login := func(address, name string) string {
		return `{ports: [{name: redis, port: 6379}], endpoints: [{name: a, addresses: [` + address + `]}], healthCheck: {tcpSocket: {steps: [{sendFrom: {prefix: "AUTH ", secretKeyRef: {name: ` + name + `, key: password}}}]}}}`
	}
	const mayNotSend = "spec.healthCheck.tcpSocket.steps: you may not get"
	const limited = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}], networkPolicy: {podSelector: {}}}`
	networkPolicies := func(name string) string {
		return "create networkpolicies.networking.k8s.io,update networkpolicies.networking.k8s.io " + name + "-egress,delete networkpolicies.networking.k8s.io " + name + "-egress"
	}
	const mayNotRead, mayNotInject, mayNotAdopt = "spec.healthCheck.tls.caSecretName: you may not get", "you may not update endpointslices", "you may not update the Service"
	of := func(annotation, value, stored, rights, refusal string) policyCase {
		c := policyCase{kind: externalServices, spec: database, annotations: note(annotation, value), rights: rights, refusal: refusal}
		if stored != "-" {
			c.old, c.stored = database, note(annotation, stored)
		}
		return c
	}
	return map[string]policyCase{
		"claim-with-rights":     of(approvedBy, forged, "-", services+","+slices, ""),
		"claim-without-slices":  of(approvedBy, forged, "-", services, "you may not create endpointslices"),
		"claim-without-rights":  of(approvedBy, forged, "-", "", "you may not create services"),
		"claim-instead":         of(approvedBy, forged, approvalBy("bob"), services, "you may not create endpointslices"),
		"fault":                 of(fault, blackHole, "-", "create endpointslices.discovery.k8s.io", mayNotInject),
		"fault-with-right":      of(fault, blackHole, "-", "update endpointslices.discovery.k8s.io", ""),
		"fault-added":           of(fault, blackHole, "", "", mayNotInject),
		"fault-changed":         of(fault, later, blackHole, "", mayNotInject),
		"fault-kept":            of(fault, blackHole, blackHole, "", ""),
		"fault-ended":           of(fault, "", blackHole, "", ""),
		"adoption":              of(adopt, "true", "-", "update services another", mayNotAdopt),
		"adoption-with-right":   of(adopt, "true", "-", "update services adoption-with-right", ""),
		"adoption-added":        of(adopt, "true", "false", "", mayNotAdopt),
		"adoption-kept":         of(adopt, "true", "true", "", ""),
		"no-adoption":           of(adopt, "no", "-", "", ""),
		"adoption-resumed":      {kind: externalServices, spec: database, old: strings.Replace(database, "{", "{suspend: true, ", 1), annotations: note(adopt, "true"), stored: note(adopt, "true"), refusal: mayNotAdopt},
		"secret":                {kind: externalServices, spec: secret("roots", false), rights: "get secrets other", refusal: mayNotRead},
		"secret-with-right":     {kind: externalServices, spec: secret("roots", false), rights: "get secrets roots"},
		"secret-changed":        {kind: externalServices, spec: secret("other", false), old: secret("roots", false), rights: "get secrets roots", refusal: mayNotRead},
		"secret-kept":           {kind: externalServices, spec: strings.Replace(secret("roots", false), "443", "444", 1), old: secret("roots", false)},
		"secret-suspended":      {kind: externalServices, spec: secret("roots", true), old: secret("roots", false)},
		"secret-resumed":        {kind: externalServices, spec: secret("roots", false), old: secret("roots", true), refusal: mayNotRead},
		"credential":            {kind: externalServices, spec: login("192.0.2.1", "login"), rights: "get secrets other", refusal: mayNotSend},
		"credential-with-right": {kind: externalServices, spec: login("192.0.2.1", "login"), rights: "get secrets login"},
		"credential-kept":       {kind: externalServices, spec: strings.Replace(login("192.0.2.1", "login"), "{", "{historyLimit: 3, ", 1), old: login("192.0.2.1", "login")},
		"credential-elsewhere":  {kind: externalServices, spec: login("192.0.2.2", "login"), old: login("192.0.2.1", "login"), refusal: mayNotSend},
		"certificate-elsewhere": {kind: externalServices, spec: strings.Replace(secret("roots", false), "caSecretName", "clientCertificateSecretName", 1), old: secret("roots", false), refusal: "spec.healthCheck.tls.clientCertificateSecretName: you may not get"},
		"egress":                {kind: externalServices, spec: limited, refusal: "you may not create networkpolicies"},
		"egress-with-rights":    {kind: externalServices, spec: limited, rights: networkPolicies("egress-with-rights")},
		"egress-of-another":     {kind: externalServices, spec: limited, rights: networkPolicies("another"), refusal: "you may not update the NetworkPolicy"},
		"egress-added":          {kind: externalServices, spec: limited, old: database, refusal: "you may not create networkpolicies"},
		"egress-removed":        {kind: externalServices, spec: database, old: limited, refusal: "you may not create networkpolicies"},
		"egress-kept":           {kind: externalServices, spec: strings.Replace(limited, "name: a", "state: Drained, name: a", 1), old: limited},
		"egress-readdressed":    {kind: externalServices, spec: strings.Replace(limited, "192.0.2.1", "192.0.2.9", 1), old: limited, refusal: "you may not create networkpolicies"},
		"egress-resumed":        {kind: externalServices, spec: limited, old: strings.Replace(limited, "{", "{suspend: true, ", 1), refusal: "you may not create networkpolicies"},
		// The webhook approves addresses of a writer who may not get the Secret or update the Service, which is not checked again.
		"adoption-kept-with-claim": {kind: externalServices, spec: database, old: database, annotations: map[string]string{adopt: "true", approvedBy: forged}, stored: note(adopt, "true"), rights: services + "," + slices},
		"secret-kept-with-claim":   {kind: externalServices, spec: secret("roots", false), old: secret("roots", false), annotations: note(approvedBy, forged), rights: services + "," + slices},
	}
}

const (
	// restarted has targets by name and by selector.
	restarted      = `{targets: [{kind: Deployment, name: web}, {kind: StatefulSet, selector: {matchLabels: {app: db}}}], triggers: [` + weekly + `]}`
	restartedRight = "patch deployments.apps web,patch statefulsets.apps"
)

// extended returns a spec with further fields.
func extended(spec, fields string) string { return strings.TrimSuffix(spec, "}") + ", " + fields + "}" }

// verified returns a verification that asks four hosts, with the maximal number of headers. The last header has a name, and the
// authority of the last host is in a Secret.
func verified(header, secret string) string {
	var headers strings.Builder
	for i := range 15 {
		fmt.Fprintf(&headers, "{name: %s-%d, value: x}, ", strings.Repeat("n", 200), i)
	}
	probe := func(name, tls string) string {
		return "{name: " + name + ", host: shop.example.com, httpGet: {port: 443, httpHeaders: [" + headers.String() + "{name: " + header + ", value: x}]}, tls: {" + tls + "}}"
	}
	return "verification: {probes: [" + probe("a", "caSecretName: public") + ", " + probe("b", "caSecretName: public") + ", " +
		probe("c", "") + ", " + probe("d", "caSecretName: "+secret) + "]}"
}

func restartCases() map[string]policyCase {
	of := func(spec, old, rights, refusal string) policyCase {
		return policyCase{kind: rebootPolicies, spec: spec, old: old, rights: rights, refusal: refusal}
	}
	told := func(annotation, value, stored, refusal string) policyCase {
		return policyCase{kind: rebootPolicies, spec: restarted, old: restarted, annotations: note(annotation, value), stored: note(annotation, stored), refusal: refusal}
	}
	with := func(fields string) string { return extended(restarted, fields) }
	probing := func(probe string) string {
		return strings.Replace(restarted, "triggers: [", "cooldown: 10m, triggers: [{name: up, type: Probe, probe: {"+probe+"}}, ", 1)
	}
	const evicts, accounts = "create pods/eviction,get pods", "get deployments.apps web,list statefulsets.apps"
	const restartNow, resume, onFault = "autoreboot.fairlead.dev/restart-now", "autoreboot.fairlead.dev/retry", "autoreboot.fairlead.dev/on-injected-fault"
	const web, db, headers = "spec.targets[0]: you may not patch", "spec.targets[1]: you may not patch", "are not sent to another host than the pods"
	evict, account := with("strategy: {type: Evict}"), with("serviceAccountName: robot")
	impersonate := "impersonate serviceaccounts robot"
	rollouts := func(target string) string {
		return `{targets: [{group: argoproj.io, ` + target + `}], triggers: [` + weekly + `]}`
	}
	const anyDB = "selector: {matchLabels: {app: db}}"
	foreign := probing("host: api.example.com, httpGet: {port: 443, httpHeaders: [{name: cOOkie, value: x}]}")
	return map[string]policyCase{
		"verified-by-a-cookie":  of(with(verified("cookie", "public")), "", restartedRight+",get secrets public", headers),
		"verified-by-it-before": of(extended(with(verified("cookie", "public")), "historyLimit: 7"), with(verified("cookie", "public")), "", ""),
		"all-rights":            of(restarted, "", restartedRight, ""),
		"one-target":            of(restarted, "", "patch statefulsets.apps", web),
		"another-workload":      of(restarted, "", "patch deployments.apps api,patch statefulsets.apps", web),
		"a-name-of-all":         of(restarted, "", "patch deployments.apps web,patch statefulsets.apps db", db),
		"evictions":             of(evict, "", evicts, ""),
		"evictions-blindly":     of(evict, "", "create pods/eviction", "spec.strategy.type: you may not get pods"),
		"evictions-without":     of(evict, "", restartedRight+",get pods", "spec.strategy.type: you may not create pods/eviction"),
		"evictions-kept":        of(extended(evict, "historyLimit: 7"), evict, "", ""),
		"account":               of(account, "", impersonate+","+accounts, ""),
		"account-without":       of(account, "", restartedRight+","+accounts, "spec.serviceAccountName: you may not impersonate"),
		"account-blindly":       of(account, "", impersonate+",get deployments.apps web", "spec.targets[1]: you may not read"),
		"account-changed":       of(with("serviceAccountName: admin"), account, impersonate+","+accounts, "spec.serviceAccountName: you may not impersonate"),
		"account-removed":       of(restarted, account, impersonate+","+accounts, web),
		"account-evicting-kept": of(extended(account, "strategy: {type: Evict}, historyLimit: 7"), extended(account, "strategy: {type: Evict}"), "", ""),
		"account-kept":          of(extended(account, "historyLimit: 7"), account, "", ""),
		"another-cron":          of(strings.Replace(restarted, "0 3", "0 4", 1), restarted, "", ""),
		"another-target":        of(strings.Replace(restarted, "web", "api", 1), restarted, restartedRight, web),
		"another-selector":      of(strings.Replace(restarted, "app: db", "app: web", 1), restarted, "", db),
		"another-kind":          of(strings.Replace(restarted, "kind: Deployment", "kind: DaemonSet", 1), restarted, restartedRight, web),
		"another-group": of(rollouts(anyDB), strings.Replace(rollouts(anyDB), "argoproj.io", "apps", 1),
			"patch deployments.apps,patch statefulsets.apps,patch daemonsets.apps", web),
		"a-rollout":                of(rollouts("kind: Rollout, name: web"), "", "patch rollouts.argoproj.io web", ""),
		"a-rollout-without":        of(rollouts("kind: Rollout, name: web"), "", restartedRight+",patch rollouts.apps", web),
		"rollouts-by-labels":       of(rollouts(anyDB), "", "patch rollouts.argoproj.io", ""),
		"another-order":            of(`{targets: [{kind: StatefulSet, selector: {matchLabels: {app: db}}}, {kind: Deployment, name: web}], triggers: [`+weekly+`]}`, restarted, "", ""),
		"resumed":                  of(restarted, with("suspend: true"), "", web),
		"no-longer-a-dry-run":      of(with("dryRun: false"), with("dryRun: true"), "", web),
		"suspended":                of(with("suspend: true"), restarted, "", ""),
		"evictions-now":            of(evict, restarted, restartedRight, "may not create pods/eviction"),
		"rollouts-now":             of(restarted, evict, evicts, web),
		"restarted-now":            told(restartNow, "2", "1", web),
		"restarted-before":         told(restartNow, "1", "1", ""),
		"no-longer-restarted":      told(restartNow, "", "1", ""),
		"resumed-now":              told(resume, "2026-03-02T14:00:00Z", "", web),
		"restarted-for-faults":     told(onFault, "Restart", "Hold", web),
		"restarted-for-faults-yet": told(onFault, "Restart", "Restart", ""),
		"held-for-faults":          told(onFault, "Hold", "Restart", ""),
		"claimed":                  told(approvedBy, forged, "", web),
		"a-cookie":                 of(foreign, "", restartedRight, headers),
		"a-token":                  of(probing("host: 192.0.2.1, httpGet: {port: 80, httpHeaders: [{name: Accept, value: x}, {name: authorization, value: x}]}"), restarted, "", headers),
		"a-cookie-before":          of(extended(foreign, "historyLimit: 7"), foreign, "", ""),
		"a-token-for-pods":         of(probing("httpGet: {port: http, httpHeaders: [{name: Authorization, value: x}]}"), "", restartedRight, ""),
		"no-token":                 of(probing("host: 192.0.2.1, httpGet: {port: 80, httpHeaders: [{name: Accept, value: x}]}"), "", restartedRight, ""),
		"sixteen-targets":          of(largestPolicy(16, 0, 0), strings.Replace(largestPolicy(16, 0, 0), "app: n15", "app: m", 1), "", "spec.targets[15]: you may not patch"),
		// What is checked costs no more than the API server allows: beyond, it would refuse the write.
		"largest":                 of(largestPolicy(32, 16, 16), "", everything, ""),
		"largest-verified":        of(extended(largestPolicy(32, 16, 16), verified("Accept", "roots")), "", everything, ""),
		"largest-changed":         of(strings.ReplaceAll(largestPolicy(32, 16, 16), "app: n", "app: m"), largestPolicy(32, 16, 16), everything, ""),
		"largest-with-an-account": of(extended(largestPolicy(32, 16, 16), "serviceAccountName: robot"), largestPolicy(32, 16, 16), everything, ""),
	}
}

// everything is the right to everything in the namespace.
const everything = "* *.*"

// largestPolicy has so many targets, triggers with 32 sources each, and gates, all of them selectors or names of their own.
func largestPolicy(targets, triggers, gates int) string {
	var t, r, g []string
	for i := range targets {
		t = append(t, fmt.Sprintf("{kind: Deployment, selector: {matchLabels: {app: n%d}}}", i))
	}
	for i := range triggers {
		var sources []string
		for j := range 32 {
			sources = append(sources, fmt.Sprintf("{kind: Secret, selector: {matchLabels: {app: n%d-%d}}}", i, j))
		}
		r = append(r, fmt.Sprintf("{name: c%d, type: ConfigChange, configChange: {sources: [%s]}}", i, strings.Join(sources, ", ")))
	}
	for i := range gates {
		g = append(g, fmt.Sprintf("{name: n%[1]d, type: NoPods, noPods: {selector: {matchLabels: {app: n%[1]d}}}}", i))
	}
	if len(r) == 0 {
		r = []string{weekly}
	}
	return fmt.Sprintf("{targets: [%s], triggers: [%s], gates: [%s]}", strings.Join(t, ", "), strings.Join(r, ", "), strings.Join(g, ", "))
}

func readCases() map[string]policyCase {
	const spec = `{targets: [{kind: Deployment, name: web}], triggers: [
		{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: web-tls}},
		{name: config, type: ConfigChange, configChange: {sources: [{kind: Secret, name: creds}, {kind: ConfigMap, selector: {matchLabels: {app: web}}}]}},
		{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db}}]}`
	all := []string{"patch deployments.apps web", "get secrets web-tls", "get secrets creds", "list configmaps", "get externalservices.networking.fairlead.dev db"}
	of := func(spec, old, rights, refusal string) policyCase {
		return policyCase{kind: rebootPolicies, spec: spec, old: old, rights: rights, refusal: refusal}
	}
	const tls, sources, external = "spec.triggers[0].certificateRenewal.secretName: you may not get this Secret", "spec.triggers[1].configChange.sources: you may not read", "spec.triggers[2].endpointsChange.externalServiceName: you may not get"
	without := func(i int) string {
		return strings.Join(append(append([]string{}, all[:i]...), all[i+1:]...), ",")
	}
	with := func(secret string) string { return extended(restarted, verified("Accept", secret)) }
	const public, probed = restartedRight + ",get secrets public", "patch deployments.apps web"
	probing := func(secrets ...string) string {
		steps := "{expect: hello}"
		for _, secret := range secrets {
			steps += ", {sendFrom: {secretKeyRef: {name: " + secret + ", key: password}}}"
		}
		return "{targets: [{kind: Deployment, name: web}], cooldown: 10m, triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 6379, steps: [" + steps + "]}, tls: {clientCertificateSecretName: client}}}]}"
	}
	return map[string]policyCase{
		"verified":            of(with("roots"), "", public+",get secrets roots", ""),
		"verified-without":    of(with("roots"), "", public, "spec.verification.probes[3].tls.caSecretName: you may not get this Secret"),
		"verified-before":     of(extended(with("roots"), "historyLimit: 7"), with("roots"), "", ""),
		"verified-by-another": of(with("keys"), with("roots"), public, "spec.verification.probes[3]"),
		"reads":               of(spec, "", strings.Join(all, ","), ""),
		"reads-no-tls":        of(spec, "", without(1), tls),
		"reads-no-creds":      of(spec, "", without(2), sources),
		"reads-no-configs":    of(spec, "", without(3), sources),
		"reads-get-of-all":    of(spec, "", without(3)+",get configmaps", sources),
		"reads-no-external":   of(spec, "", without(4), external),
		"reads-optional":      of(strings.Replace(spec, "name: creds", "name: creds, optional: true", 1), spec, "", ""),
		"reads-another":       of(strings.Replace(spec, "name: creds", "name: root", 1), spec, "", sources),
		"reads-another-kind":  of(strings.Replace(spec, "kind: Secret", "kind: ConfigMap", 1), spec, "", sources),
		"reads-a-class": of(strings.Replace(spec, "kind: ConfigMap, selector: {matchLabels: {app: web}}", "kind: SecretProviderClass, name: vault", 1), "",
			without(3)+",list secretproviderclasspodstatuses.secrets-store.csi.x-k8s.io", ""),
		"reads-no-statuses": of(strings.Replace(spec, "kind: ConfigMap, selector: {matchLabels: {app: web}}", "kind: SecretProviderClass, name: vault", 1), "",
			strings.Join(all, ","), sources),
		"probes-secrets":         of(probing("one", "two", "two"), "", probed+",get secrets client,get secrets one", "spec.triggers[0].probe: you may not get a Secret"),
		"probes-two-secrets":     of(probing("one"), "", probed+",get secrets client,get secrets one", ""),
		"probes-without-one":     of(probing("one"), "", probed+",get secrets client", "spec.triggers[0].probe: you may not get a Secret"),
		"probes-three-secrets":   of(probing("one", "two"), "", probed+",list secrets", ""),
		"probes-secrets-before":  of(extended(probing("one"), "historyLimit: 7"), probing("one"), "", ""),
		"probes-no-secret-moved": of(strings.Replace(probing(), "tls: {clientCertificateSecretName: client}", "tls: {}", 1), probing(), "", ""),
		"reads-another-tls":      of(strings.Replace(spec, "web-tls", "root-tls", 1), spec, "", tls),
		"reads-selected":         of(strings.Replace(spec, "app: web", "app: api", 1), spec, "", sources),
		"reads-claimed":          {kind: rebootPolicies, spec: spec, old: spec, annotations: note(approvedBy, forged), rights: all[0], refusal: tls},
		"reads-resumed":          of(spec, extended(spec, "suspend: true"), all[0], tls),
		"reads-twelve":           of(largestPolicy(1, 12, 0), strings.ReplaceAll(largestPolicy(1, 12, 0), "app: n11-", "app: m-"), "", "spec.triggers[11].configChange.sources: you may not read"),
	}
}

// approvalCases are of the right to approve restarts.
func approvalCases() map[string]policyCase {
	released, approves := extended(restarted, "gates: [{name: release, type: Approval}]"), "approve rebootpolicies.autoreboot.fairlead.dev"
	token := note("autoreboot.fairlead.dev/approve", "0123456789abcdef")
	return map[string]policyCase{
		"approval-added":           {kind: rebootPolicies, spec: released, old: restarted},
		"approval-removed":         {kind: rebootPolicies, spec: restarted, old: released, rights: restartedRight, refusal: "spec.gates: you may not approve"},
		"approval-removed-allowed": {kind: rebootPolicies, spec: restarted, old: released, rights: approves},
		"approval-token":           {kind: rebootPolicies, spec: released, old: released, annotations: token, rights: restartedRight, refusal: "you may not approve"},
		"approval-token-allowed":   {kind: rebootPolicies, spec: released, old: released, annotations: token, rights: approves},
		"approval-token-kept":      {kind: rebootPolicies, spec: extended(released, "historyLimit: 7"), old: released, annotations: token, stored: token},
	}
}

func gateCases() map[string]policyCase {
	cases := map[string]policyCase{
		"sixteen-gates": {kind: rebootPolicies, spec: largestPolicy(1, 0, 16), old: strings.Replace(largestPolicy(1, 0, 16), "app: n15", "app: m", 1), refusal: "spec.gates[15]: you may not read"},
		"gate-resumed":  {kind: rebootPolicies, spec: extended(restarted, "gates: [{name: no-jobs, type: NoPods, noPods: {selector: {matchLabels: {app: job}}}}]"), old: extended(restarted, "suspend: true, gates: [{name: no-jobs, type: NoPods, noPods: {selector: {matchLabels: {app: job}}}}]"), rights: restartedRight, refusal: "spec.gates[0]: you may not read"},
	}
	asks := extended(restarted, `gates: [{name: quiet, type: PrometheusQueryEmpty, prometheusQueryEmpty: {query: "up == 0"}}]`)
	cases["gate-query"] = policyCase{kind: rebootPolicies, spec: asks, rights: restartedRight}
	for name, c := range map[string]struct{ gate, right, other string }{
		"pods":      {"{name: no-jobs, type: NoPods, noPods: {selector: {matchLabels: {app: job}}}}", "list pods", "get pods"},
		"external":  {"{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}", "get externalservices.networking.fairlead.dev db", "get externalservices.networking.fairlead.dev web"},
		"workload":  {"{name: agent, type: Condition, condition: {apiVersion: apps/v1, kind: DaemonSet, name: agent}}", "get daemonsets.apps agent", "get deployments.apps agent"},
		"plural-s":  {"{name: web, type: Condition, condition: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: web, type: Ready}}", "get ingresses.networking.k8s.io web", "get ingresss.networking.k8s.io web"},
		"plural-y":  {"{name: web, type: Condition, condition: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, name: web, type: Ready}}", "get networkpolicies.networking.k8s.io web", "get networkpolicys.networking.k8s.io web"},
		"plural-ay": {"{name: web, type: Condition, condition: {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: web, type: Programmed}}", "get gateways.gateway.networking.k8s.io web", "get gatewaies.gateway.networking.k8s.io web"},
		"core":      {"{name: web, type: Condition, condition: {apiVersion: v1, kind: Pod, name: web-0, type: Ready}}", "get pods web-0", "get pods.apps web-0"},
		"chaos":     {"{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: drill, type: Survived}}", "get chaospods.chaos.fairlead.dev drill", "get externalservices.networking.fairlead.dev drill"},
	} {
		gated := extended(restarted, "gates: ["+c.gate+"]")
		cases["gate-"+name] = policyCase{kind: rebootPolicies, spec: gated, rights: restartedRight + "," + c.right}
		cases["gate-"+name+"-without"] = policyCase{kind: rebootPolicies, spec: gated, rights: restartedRight + "," + c.other, refusal: "spec.gates[0]: you may not read"}
		cases["gate-"+name+"-kept"] = policyCase{kind: rebootPolicies, spec: extended(gated, "historyLimit: 7"), old: gated}
		cases["gate-"+name+"-added"] = policyCase{kind: rebootPolicies, spec: gated, old: restarted, refusal: "spec.gates[0]: you may not read"}
	}
	return cases
}

func chaosCases() map[string]policyCase {
	of := func(spec, old, rights, refusal string) policyCase {
		return policyCase{kind: chaosPods, spec: spec, old: old, rights: rights, refusal: refusal}
	}
	with := func(fields string) string { return extended(drill, fields) }
	const canary = `{target: {template: {spec: {containers: [{name: c, image: nginx}]}}}, schedule: {interval: 1h}, action: {type: Delete}}`
	const evicts, noEviction = "create pods/eviction,get pods", "spec.action.type: you may not create pods/eviction"
	account := with("serviceAccountName: robot")
	return map[string]policyCase{
		"kills":                   of(drill, "", evicts, ""),
		"kills-blindly":           of(drill, "", "create pods/eviction", "spec.target: you may not read pods"),
		"kills-without":           of(drill, "", "delete pods,get pods", noEviction),
		"deletes":                 of(with("action: {type: Delete}"), "", "delete pods,get pods", ""),
		"deletes-without":         of(with("action: {type: Delete}"), "", evicts, "spec.action.type: you may not delete pods"),
		"deletes-now":             of(with("action: {type: Delete}"), drill, evicts, "spec.action.type: you may not delete pods"),
		"canary":                  of(canary, "", "delete pods,create pods", ""),
		"canary-without":          of(canary, "", "delete pods", "spec.target.template: you may not create pods in"),
		"canary-killing":          of(canary, "", "create pods", "spec.action.type: you may not delete pods in"),
		"kills-as":                of(account, "", "impersonate serviceaccounts robot,list pods", ""),
		"kills-as-blindly":        of(account, "", "impersonate serviceaccounts robot,get pods", "spec.target: you may not read pods"),
		"kills-as-without":        of(account, "", evicts, "spec.serviceAccountName: you may not impersonate"),
		"kills-as-another":        of(account, with("serviceAccountName: maid"), "list pods", "spec.serviceAccountName: you may not impersonate"),
		"kills-as-itself":         of(drill, account, "list pods", noEviction),
		"count":                   of(with("count: 2"), drill, "", ""),
		"earnest":                 of(with("dryRun: false"), with("dryRun: true"), "get pods", noEviction),
		"earnest-without-default": of(with("dryRun: false"), drill, "get pods", noEviction),
		"kills-resumed":           of(with("dryRun: false"), with("dryRun: false, suspend: true"), "get pods", noEviction),
		"kills-another":           of(strings.Replace(drill, "web", "api", 1), drill, "get pods", noEviction),
		"kills-now":               {kind: chaosPods, spec: drill, old: drill, annotations: note("chaos.fairlead.dev/run-now", "now"), rights: "get pods", refusal: noEviction},
		"kills-again":             {kind: chaosPods, spec: drill, old: drill, annotations: note("chaos.fairlead.dev/retry", "now"), rights: "get pods", refusal: noEviction},
		"kills-before":            {kind: chaosPods, spec: with("count: 2"), old: drill, annotations: note("chaos.fairlead.dev/run-now", "now"), stored: note("chaos.fairlead.dev/run-now", "now")},
		"kills-verified":          of(with(verified("Accept", "roots")), "", evicts+",get secrets public,get secrets roots", ""),
		"kills-verified-without":  of(with(verified("Accept", "roots")), "", evicts+",get secrets public", "spec.verification.probes[3].tls.caSecretName: you may not get this Secret"),
		"kills-verified-before":   of(extended(with(verified("Accept", "roots")), "historyLimit: 7"), with(verified("Accept", "roots")), "", ""),
		"kills-verified-resumed":  of(with(verified("Accept", "roots")+", dryRun: false"), with(verified("Accept", "roots")), evicts+",get secrets public", "spec.verification.probes[3]"),
		"kills-by-a-cookie":       of(with(verified("cookie", "public")), "", evicts+",get secrets public", "spec.verification.probes[*].httpGet.httpHeaders: Authorization and Cookie are not sent"),
		"kills-by-it-before":      of(extended(with(verified("cookie", "public")), "historyLimit: 7"), with(verified("cookie", "public")), "", ""),
		"kills-claimed":           {kind: chaosPods, spec: drill, old: drill, annotations: note(approvedBy, forged), rights: "get pods", refusal: noEviction},
	}
}
