// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

// What would install and never work is refused, with the field and what to do.
func TestAConfigurationThatDoesNotGoWithTheChartIsRefused(t *testing.T) {
	folder := generated(t)
	for values, want := range map[string]string{
		"configuration: {kind: Foo}":                                                         "configuration.kind: Foo does not go with the chart",
		"configuration: {apiVersion: config.fairlead.dev/v2}":                                "configuration.apiVersion: ",
		"configuration: {webhook: {host: 127.0.0.1}}":                                        "configuration.webhook.host: 127.0.0.1 does not go with the chart: the Service",
		"configuration: {webhook: {enabled: false}}":                                         "configuration.webhook.enabled: false does not go with the chart: layout says",
		"configuration: {controllers: {enabled: false}}":                                     "configuration.controllers.enabled: false",
		"{layout: split, configuration: {webhook: {enabled: false}}}":                        "configuration.webhook.enabled: false",
		"configuration: {webhook: {configurations: [other]}}":                                "objects have the names that fullnameOverride and nameOverride give them",
		"{fullnameOverride: a-fairlead, configuration: {service: {name: fairlead-webhook}}}": "configuration.service.name: fairlead-webhook",
		"configuration: {service: {namespace: other}}":                                       "configuration.service.namespace: other",
		"configuration: {webhook: {certificates: {source: folder, folder: /etc/tls}}}":       "set certificates.source",
		"configuration: {webhook: {certificates: {source: certManager}}}":                    "configuration.webhook.certificates.source: certManager",
		"configuration: {webhook: {certificates: {injectCA: false}}}":                        "set certificates.caInjector",
		"configuration: {webhook: {certificates: {secretName: other}}}":                      "the operator has rights to this one alone",
		"configuration: {webhook: {certificates: {certManager: {secretName: other}}}}":       "configuration.webhook.certificates.certManager.secretName: other",
		"configuration: {webhook: {certificates: {certManager: {certificate: other}}}}":      "configuration.webhook.certificates.certManager.certificate: other",
		"configuration: {rebootPolicies: {fingerprintSecret: other}}":                        "configuration.rebootPolicies.fingerprintSecret: other",
		"configuration: {rebootPolicies: {sources: Watch}}":                                  "set secrets, which grants the rights as well",
		"configuration: {calendar: {configMap: other}}":                                      "configuration.calendar.configMap: other",
		"configuration: {leaderElection: {leaderElect: false}}":                              "configuration.leaderElection.leaderElect: false",
		"configuration: {leaderElection: {resourceName: other}}":                             "configuration.leaderElection.resourceName: other",
		"configuration: {leaderElection: {resourceNamespace: other}}":                        "configuration.leaderElection.resourceNamespace: other",
		"configuration: {leaderElection: {id: a}}":                                           "all replicas would have it",
		"configuration: {clusterAccess: false}":                                              "configuration.clusterAccess: false does not go with the chart: set namespaces",
		"{namespaces: [shop], configuration: {namespaces: [bank]}}":                          "set the value namespaces",
		"{namespaces: [shop], configuration: {egress: {clusterCIDRs: [192.0.2.0/24]}}}":      "set the value clusterCIDRs",
		"{serviceMonitor: {enabled: true}, configuration: {metrics: {certDir: /other}}}":     "configuration.metrics.certDir: /other",
		"{podMonitor: {enabled: true}, configuration: {metrics: {secure: false}}}":           "configuration.metrics.secure: false",
		"{podMonitor: {enabled: true}, configuration: {metrics: {bindAddress: \"0\"}}}":      "leaves no metrics to monitor",
		"configuration: {metrics: {bindAddress: localhost:8443}}":                            "configuration.metrics.bindAddress: localhost:8443 is not reached",
		"configuration: {health: {bindAddress: \"0\"}}":                                      "configuration.health.bindAddress: 0 is not reached",
		"configuration: {health: {bindAddress: 127.0.0.1:8081}}":                             "configuration.health.bindAddress: 127.0.0.1:8081",
		"configuration: {webhook: {port: 0}}":                                                "the port of webhook is 0",
		"configuration: {webhook: {port: 70000}}":                                            "at '/configuration/webhook/port': maximum: got 70,000, want 65,535",
		"configuration: {webhook: {port: 8443}}":                                             "need a port each, and have 8443, 8443 and 8081",
		"configuration: {webhook: {drainDelay: 60s}}":                                        "configuration.gracefulShutdownTimeout: 65s is less than",
		"configuration: {gracefulShutdownTimeout: 49s}":                                      "49s is less than",
		"configuration: {webhook: {prot: 9443}}":                                             "at '/configuration/webhook': additional properties 'prot' not allowed",
		"configuration: {webhook: {port: \"9443\"}}":                                         "at '/configuration/webhook/port': got string, want integer",
		"configuration: {webhook: {tls: {minVersion: VersionTLS11}}}":                        "at '/configuration/webhook/tls/minVersion': value must be one of 'VersionTLS12', 'VersionTLS13'",
		"configuration: {rebootPolicies: {maxRestarts: -5}}":                                 "at '/configuration/rebootPolicies/maxRestarts': minimum: got -5, want 1",
		"configuration: {controllers: {concurrency: {ChaosPod: 0}}}":                         "at '/configuration/controllers/concurrency/ChaosPod': minimum: got 0, want 1",
		"configuration: {controllers: {concurrency: {Foo: 1}}}":                              "at '/configuration/controllers/concurrency': additional properties 'Foo' not allowed",
		"configuration: {logging: {level: \"99\"}}":                                          "at '/configuration/logging/level': value must be one of 'error', 'info', 'debug', 0, '0', 1",
		"configuration: {logging: {level: 8}}":                                               "at '/configuration/logging/level': value must be one of",
		"configuration: {externalServices: {clusterDomain: \"a b\"}}":                        "at '/configuration/externalServices/clusterDomain': 'a b' does not match",
		"configuration: {profiling: {bindAddress: \"6060\"}}":                                "at '/configuration/profiling/bindAddress': '6060' does not match",
		"configuration: {webhook: {drainTimeout: 0s}}":                                       "configuration.webhook.drainTimeout: 0s is too short: it must be at least 1ns",
		"configuration: {webhook: {certificates: {validity: 59.9s}}}":                        "configuration.webhook.certificates.validity: 59.9s is too short: it must be at least 1m",
		"configuration: {rebootPolicies: {slotTimeout: 1h1s}}":                               "configuration.rebootPolicies.slotTimeout: 1h1s is too long: it must be at most 1h",
		"test: {namespace: fairlead-system}":                                                 "test.namespace: fairlead-system is the operator",
		"clusterCIDRs: [999.1.1.1/99]":                                                       "at '/clusterCIDRs/0': '999.1.1.1/99' does not match",
		"clusterCIDRs: [10.0.0.0/33]":                                                        "at '/clusterCIDRs/0'",
		"clusterCIDRs: [\"fc00/7\"]":                                                         "at '/clusterCIDRs/0'",
	} {
		if _, err := rendered(t, folder, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
	for values, want := range map[string]string{
		"configuration: {kind: FairleadConfiguration, webhook: {enabled: true, host: \"::\"}, calendar: {configMap: \"\"}}":      "configMap: \"\"",
		"{secrets: wide, configuration: {rebootPolicies: {sources: Watch}}}":                                                     "sources: Watch",
		"{namespaces: [shop], configuration: {namespaces: [shop], clusterAccess: false}}":                                        "clusterAccess: false",
		"configuration: {namespaces: [shop], egress: {clusterCIDRs: [192.0.2.0/24]}}":                                            "- 192.0.2.0/24",
		"configuration: {logging: {level: 7}, rebootPolicies: {slotTimeout: 60m}, externalServices: {drainPeriod: 0s}}":          "slotTimeout: 60m",
		"configuration: {profiling: {bindAddress: \"[::1]:6060\"}, clientConnection: {startTimeout: 500ms}}":                     "startTimeout: 500ms",
		"configuration: {metrics: {bindAddress: \"0\"}}":                                                                         "containerPort: 8443",
		"configuration: {webhook: {drainDelay: 1m, drainTimeout: 40s}, gracefulShutdownTimeout: 1m50s}":                          "terminationGracePeriodSeconds: 120\n",
		"{layout: split, configuration: {gracefulShutdownTimeout: 2m}}":                                                          "terminationGracePeriodSeconds: 25\n",
		"clusterCIDRs: [0.0.0.0/0, 255.10.0.199/32, \"fc00::/7\", \"2001:db8::1/128\", \"::ffff:0/96\", \"1:2:3:4:5:6:7:8/64\"]": "",
	} {
		if manifests, err := rendered(t, folder, values); err != nil || !strings.Contains(manifests, want) {
			t.Errorf("%s: %v, or lacks %q", values, err, want)
		}
	}
}

// The operator has rights to the kinds of workloads of its configuration, and to no others: where it has them to other kinds.
func TestKindsOfWorkloadsOfTheConfigurationAreGranted(t *testing.T) {
	folder := generated(t)
	const workloads = "configuration: {rebootPolicies: {workloads: [{group: apps.kruise.io, kind: CloneSet, version: v1alpha1}, {group: example.com, kind: Fleet, version: v1}, " +
		"{group: batch, kind: CronJob, version: v1}, {group: batch, kind: Job, version: v1}]}}"
	const rules = "rules:\n- apiGroups:\n  - \"apps.kruise.io\"\n  resources:\n  - clonesets\n  verbs:\n  - get\n  - list\n  - patch\n  - watch\n" +
		"- apiGroups:\n  - \"example.com\"\n  resources:\n  - fleets\n  verbs:\n  - get\n  - list\n  - patch\n  - watch\n" +
		"- apiGroups:\n  - \"batch\"\n  resources:\n  - cronjobs\n  verbs:\n  - get\n  - list\n  - watch\n" +
		"- apiGroups:\n  - \"batch\"\n  resources:\n  - jobs\n  verbs:\n  - create\n" +
		"- apiGroups:\n  - \"batch\"\n  resources:\n  - jobs\n  verbs:\n  - get\n  - list\n  - watch\n" +
		"- apiGroups:\n  - \"batch\"\n  resources:\n  - jobs\n  verbs:\n  - create\n  - delete\n"
	for values, want := range map[string][]string{
		"{" + workloads + "}":                                             {"kind: ClusterRole\n", "kind: ClusterRoleBinding\n"},
		"{layout: split, " + workloads + "}":                              {"kind: ClusterRole\n", "kind: ClusterRoleBinding\n"},
		"{namespaces: [shop, bank], " + workloads + "}":                   {"kind: Role\n", "kind: Role\n", "kind: RoleBinding\n", "kind: RoleBinding\n"},
		"{" + workloads + ", kinds: [ExternalService, ChaosPod]}":         nil,
		"configuration: {rebootPolicies: {workloads: []}}":                nil,
		"configuration: {rebootPolicies: {prometheus: {url: https://a}}}": nil,
	} {
		manifests, err := rendered(t, folder, values)
		if err != nil {
			t.Fatalf("%s: %v", values, err)
		}
		var got []string
		for document := range strings.SplitSeq(manifests, "\n---\n") {
			if strings.Contains(document, "  name: fairlead-workloads\n") && !strings.Contains(document, "name: fairlead-configuration") {
				got = append(got, regexp.MustCompile("(?m)^kind: .*\n").FindString(document))
				if strings.Contains(document, "kind: Role\n") && !strings.Contains(document, "roleRef") && !strings.Contains(document, rules) {
					t.Errorf("%s: %s", values, document)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", values, diff)
		}
	}
}

// rendered returns the output of `helm template` for values in YAML.
func rendered(t *testing.T, folder, values string) (string, error) {
	t.Helper()
	var of map[string]any
	if err := sigsyaml.Unmarshal([]byte(values), &of); err != nil {
		t.Fatal(err)
	}
	return render(t, folder, "fairlead-system", of)
}
