// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestWhatIsLeftOutIsDefaultedAtEitherVersion(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, c := range []struct {
		kind
		version, spec string
		want          map[string]string
	}{
		{externalServices, "v1", `{ports: [{name: http, port: 80}], endpoints: [{name: a, dns: {name: db.example.com}}], healthCheck: {httpGet: {}}}`, map[string]string{
			"spec.suspend": "false", "spec.deletionPolicy": "Delete", "spec.historyLimit": "10",
			"spec.ports":       "[{name: http, port: 80}]",
			"spec.endpoints":   "[{name: a, dns: {name: db.example.com}}]",
			"spec.resolution":  "{minTTL: 30s, maxTTL: 1h, onFailure: KeepLast, keepLastFor: 24h}",
			"spec.healthCheck": `{httpGet: {path: /, scheme: HTTP}, interval: 10s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}`,
		}},
		{externalServices, "v1alpha1", `{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [192.0.2.1]}], probe: {tcpSocket: {port: 5432}}}`, map[string]string{
			"spec.healthCheck": `{tcpSocket: {port: 5432}, interval: 10s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 10, successThreshold: 2, failureThreshold: 3}`,
			"spec.endpoints":   "[{name: host-0, addresses: [192.0.2.1]}]",
		}},
		{rebootPolicies, "v1", `{targets: [{kind: Deployment, name: web}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}]}`, map[string]string{
			"spec.dryRun": "false", "spec.cooldown": "0s", "spec.strategy": "{type: RolloutRestart}", "spec.limit": "{maxRestarts: 6, within: 1h}",
			"spec.debounce": "{quietPeriod: 2s, maxDelay: 30s}", "spec.retry": "{maxAttempts: 3, backoff: 10m, maxBackoff: 6h, resetAfter: 1h}", "spec.targets": "[{kind: Deployment, name: web}]",
			"spec.verification": "{timeout: 15m, soak: 30s, maxContainerRestarts: 0, onFailure: Halt}", "spec.historyLimit": "10",
		}},
		{rebootPolicies, "v1alpha1", `{targets: [{kind: Deployment, name: web}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {httpGet: {port: 80}}}]}`, map[string]string{
			"spec.cooldown": "10m",
			"spec.triggers": `[{name: up, type: Probe, probe: {httpGet: {port: 80}}}]`,
		}},
		{chaosPods, "v1", `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`, map[string]string{
			"spec.dryRun": "true", "spec.action": "{type: Evict}", "spec.count": "1", "spec.filter": "{minAge: 10m}",
			"spec.safety":       "{minReady: 50%, maxPerDay: 8, requireStable: true, requireDisruptionBudget: false}",
			"spec.verification": "{timeout: 10m, soak: 30s, onFailure: Halt}", "spec.historyLimit": "10",
		}},
		{chaosPods, "v1alpha1", `{template: {spec: {containers: [{name: c, image: nginx}]}}}`, map[string]string{
			"spec.dryRun": "false", "spec.action": "{type: Evict}", "spec.schedule": "{interval: 15s, jitterPercent: 0, startingDeadline: 5m}",
		}},
	} {
		name := "defaulted-" + c.version
		s.apply(c.object(c.version, name, c.spec))
		object := s.view(c.kind, "v1", name)
		for path, want := range c.want {
			s.sameField(object, path, want)
		}
	}
}

func TestRefusalsNameTheFieldAndTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, c := range []struct {
		kind
		version, name, spec string
		wanted              []string
	}{
		{externalServices, "v1", "bad", `{ports: [{name: a, port: 80}], endpoints: [{name: x, addresses: [169.254.169.254]}]}`,
			[]string{"spec.endpoints[0].addresses[0]", "169.254.169.254", "link-local"}},
		{externalServices, "v1", "with.dot", database, []string{"metadata.name", "the Service gets this name"}},
		{externalServices, "v1", "bad", `{ports: [{name: a, port: 80}], endpoints: [{name: x, dns: {name: "localhost."}}]}`,
			[]string{"spec.endpoints[0].dns.name", "localhost names are not allowed"}},
		{externalServices, "v1", "bad", `{portz: []}`, []string{`unknown field "spec.portz"`}},
		{externalServices, "v1alpha1", "bad", `{ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [127.0.0.1]}]}`,
			[]string{"spec.endpoints[0].addresses[0]", "127.0.0.1", "loopback"}},
		{rebootPolicies, "v1", "bad", `{targets: [{kind: Deployment, name: web}], triggers: [{name: t, type: Schedule, schedule: {cron: "0 3 * * 0", timeZone: Europe/Atlantis}}]}`,
			[]string{"spec.triggers[0].schedule.timeZone", "Europe/Atlantis"}},
		{rebootPolicies, "v1", "bad", `{targets: [{kind: Deployment, name: web}], triggers: [{name: t, type: Schedule, schedule: {cron: "61 * * * *"}}]}`,
			[]string{"spec.triggers[0].schedule.cron", "61"}},
		{rebootPolicies, "v1", "bad", `{targets: [{kind: Deployment, name: web}], triggers: [{name: t, type: Schedule, schedule: {cron: "0 0 30 2 *"}}]}`,
			[]string{"spec.triggers[0].schedule.cron", "0 0 30 2 *"}},
		{rebootPolicies, "v1alpha1", "bad", `{targets: [{kind: Deployment, name: web}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}, interval: 5s, timeout: 6s}}]}`,
			[]string{"spec.policies[0].probe", "timeout must not exceed interval"}},
		{chaosPods, "v1", "bad", `{target: {template: {spec: {containers: []}}}, schedule: {interval: 1h}}`,
			[]string{"spec.target.template.spec.containers"}},
		{chaosPods, "v1", "bad", `{target: {template: {spec: {containers: web}}}}`,
			[]string{"spec.target.template.spec.containers: Invalid value: is a string, which does not fit there"}},
		{chaosPods, "v1alpha1", "bad", `{template: {spec: {containers: [{name: a, image: b, prots: []}]}}}`,
			[]string{"spec.template.spec.containers[0].prots: Forbidden: a pod template has no such field"}},
		{chaosPods, "v1alpha1", "bad", `{template: {spec: {restartPolicy: Sometimes, containers: [{name: a, image: b, ports: [{name: web}]}]}}}`,
			[]string{"spec.template.spec.containers[0].ports[0].containerPort: Required value", `spec.template.spec.restartPolicy: Unsupported value: "Sometimes": supported values`}},
		{chaosPods, "v1", "bad", `{target: {selector: {matchLabels: {"-": x}}}, schedule: {interval: 1h}}`,
			[]string{"spec.target.selector"}},
	} {
		s.refused(c.wanted, "create", "-f", "-", "--", c.object(c.version, c.name, c.spec))
	}
}

func TestKubectlPrintsWarningsOfWhatIsAllowedAndProbablyNotMeant(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for name, c := range map[string]struct{ manifest, warning string }{
		"drained": {externalServices.object("v1", "drained", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1], state: Drained}]}`),
			"Warning: spec.endpoints: every endpoint is Drained"},
		"twice": {externalServices.object("v1", "twice", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}, {name: b, addresses: [192.0.2.1]}]}`),
			`Warning: spec.endpoints[1].addresses[0]: 192.0.2.1 is also listed in endpoint "a"`},
		"never": {chaosPods.object("v1", "never", `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}, count: 0}`),
			"Warning: spec.count: 0 never kills anything"},
		"unverified": {rebootPolicies.object("v1", "unverified", `{targets: [{kind: Deployment, name: web}], cooldown: 10m, triggers: [{name: up, type: Probe, probe: {httpGet: {port: 80}, tls: {insecureSkipVerify: true}}}]}`),
			"Warning: spec.triggers[0].probe.tls.insecureSkipVerify: the check accepts any certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *s
			sub.T = t
			sub.Expect(sub.apply(c.manifest).err, c.warning)
		})
	}
}

func TestTwoPoliciesOnOneWorkloadAreWarnedOf(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	spec := `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`
	s.apply(chaosPods.object("v1", "first", spec))
	// The webhook reads the others from a cache, which is a moment behind.
	s.Eventually(func() error {
		answer := s.try("create", "--dry-run=server", "-f", "-", "--", chaosPods.object("v1", "second", spec))
		if answer.failure != nil || answer.err == "" {
			return fmt.Errorf("%v %s", answer.failure, answer.err)
		}
		s.Expect(answer.err, "Warning: spec.target.workload: ChaosPod first acts on Deployment web already")
		return nil
	})
}

func TestADryRunDefaultsAndValidatesAndStoresNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, p := range pairs {
		s.Expect(s.run("create", "--dry-run=server", "-o", "json", "-f", "-", "--", p.object("v1alpha1", "dry", p.old)), `"dry"`, p.group+"/v1alpha1")
		if answer := s.try("get", p.at("v1"), "dry"); answer.failure == nil {
			t.Errorf("%s: a dry run stored the object", p.name)
		}
	}
	s.Expect(s.run("create", "--dry-run=server", "-o", "json", "-f", "-", "--", externalServices.object("v1", "dry", database)), `"deletionPolicy": "Delete"`)
	s.refused([]string{"spec.endpoints[0].addresses[0]"},
		"create", "--dry-run=server", "-f", "-", "--", externalServices.object("v1", "dry", `{ports: [{name: a, port: 80}], endpoints: [{name: x, addresses: [127.0.0.1]}]}`))
	var es networkingv1.ExternalService
	if err := s.Get("dry", &es); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run stored the object: %v", err)
	}
}

func TestBothReplicasAnswerWebhooks(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	token := s.metricsToken()
	s.Eventually(func() error {
		// Connections are kept and used again; several requests at once open new ones.
		var asking sync.WaitGroup
		for i := range 8 {
			asking.Go(func() {
				if answer := s.try("create", "--dry-run=server", "-f", "-", "--", rebootPolicies.object("v1alpha1", fmt.Sprintf("p-%d", i), pairs[1].old)); answer.failure != nil {
					t.Error(answer.err)
				}
			})
		}
		asking.Wait()
		for _, replica := range s.Running() {
			samples := s.metrics(replica, token)
			for _, family := range []string{"fairlead_admission_requests_total", "fairlead_conversion_objects_total"} {
				if samples.Sum(family) == 0 {
					return fmt.Errorf("%s: no %s", replica.ID, family)
				}
			}
		}
		return nil
	})
	for _, replica := range s.Running() {
		samples := s.metrics(replica, token)
		for _, bad := range []string{`result="panic"`, `result="error"`, `result="failed"`} {
			n := samples.Sum("fairlead_admission_requests_total", bad) + samples.Sum("fairlead_conversion_objects_total", bad)
			// Another test sends what must fail: an unknown version, which counts as of no kind.
			if n -= samples.Sum("fairlead_conversion_objects_total", bad, `kind="unknown"`); n > 0 {
				t.Errorf("%s: %v requests with %s", replica.ID, n, bad)
			}
		}
	}
}
