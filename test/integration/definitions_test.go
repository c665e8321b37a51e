// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// badReasons are the causes of refusal that each object of testdata/bad.yaml was written for, as "field: message".
var badReasons = map[string][]string{
	"noprobecooldown": {
		"spec: cooldown is required with a Probe trigger",
		"spec.targets: a target may be listed once",
		"spec.triggers[0].probe: set exactly one of tcpSocket, httpGet, grpc",
		"spec.triggers[0].probe: timeout must not exceed interval",
	},
	"names": {
		"spec.triggers: names must be unique: without name, it is type in lower case",
		"spec.gates: names must be unique: without name, it is type in lower case",
	},
	"union": {
		"spec.targets[0]: set exactly one of name or selector",
		"spec.triggers[0]: type PodAge and podAge go together: set both or neither",
		"spec.triggers[0]: type Schedule and schedule go together: set both or neither",
		"spec.triggers[0].schedule.cron: use timeZone instead of TZ= or CRON_TZ=",
		"spec.windows[0].name: must be lower-case letters, digits and hyphens, with a letter or digit at both ends",
		"spec.windows[0].duration: duration must be between 1m and 168h",
		"spec.windows[0].timeZone: timeZone must be an IANA name, not Local",
	},
	"badips": {
		"spec.endpoints[0].addresses[0]: loopback, unspecified, link-local and multicast link-local addresses are not allowed",
		"spec.endpoints[0].addresses[1]: loopback, unspecified, link-local and multicast link-local addresses are not allowed",
		"spec.endpoints[0].addresses[2]: loopback, unspecified, link-local and multicast link-local addresses are not allowed",
		"spec.endpoints[0].addresses[3]: loopback, unspecified, link-local and multicast link-local addresses are not allowed",
		"spec.endpoints[0].addresses[3]: multicast and reserved addresses are not allowed",
		"spec.endpoints[0].addresses[4]: loopback, unspecified, link-local and multicast link-local addresses are not allowed",
		"spec.endpoints[0].addresses[5]: loopback, unspecified, link-local and multicast link-local addresses are not allowed",
		"spec.endpoints[0].addresses[6]: must be an IP address",
		"spec.endpoints[0].addresses[7]: must be in canonical form",
		"spec.endpoints[0].addresses[9]: must be an IP address: use dns.name for a name",
		"spec.ports: port and protocol must be unique",
	},
	"baddns": {
		"spec: failover needs healthCheck",
		"spec: more than one priority needs healthCheck",
		"spec.endpoints[0].dns.name: in-cluster and localhost names are not allowed",
		"spec.endpoints[1].dns.name: use addresses for an IP",
		"spec.endpoints[2]: set exactly one of dns or addresses",
	},
	"forced": {
		"spec.action.gracePeriodSeconds: 0: must be between 1 and 86400: with 0, no node confirms that the pod has stopped",
		"spec.count: must be a non-negative integer or a percentage 0%-100%",
		"spec: set one of schedule.cron, schedule.interval, schedule.at",
		"spec.schedule: timeZone goes with cron",
		"spec.target.workload.group: group must be apps or argoproj.io",
		"spec.target.workload.kind: kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout",
	},
}

func TestEveryGoodObjectIsAccepted(t *testing.T) {
	t.Parallel()
	forBothClusters(t, func(s *suite) {
		for _, object := range s.manifests("good.yaml") {
			s.apply(framework.Text(object.Object))
		}
	})
}

func TestEveryBadObjectIsRefusedForEachReasonItWasWrittenFor(t *testing.T) {
	t.Parallel()
	forBothClusters(t, func(s *suite) {
		objects := s.manifests("bad.yaml")
		if len(objects) != len(badReasons) {
			s.Fatalf("testdata/bad.yaml has %d objects, and reasons stand here for %d", len(objects), len(badReasons))
		}
		for _, object := range objects {
			object.SetNamespace(s.Namespace)
			err := s.Client.Create(s.Context(), object)
			if !apierrors.IsInvalid(err) {
				s.Errorf("%s %s: want it refused as invalid, got %v", object.GetKind(), object.GetName(), err)
				continue
			}
			wanted := slices.Sorted(slices.Values(badReasons[object.GetName()]))
			if diff := cmp.Diff(wanted, causes(err)); diff != "" {
				s.Errorf("%s %s: reasons (-want +got):\n%s", object.GetKind(), object.GetName(), diff)
			}
		}
	})
}

// forBothClusters runs a test where the CRDs stand alone, and where the operator answers
// before them.
func forBothClusters(t *testing.T, test func(*suite)) {
	t.Run("CRDs alone", func(t *testing.T) { test(newBareSuite(t)) })
	t.Run("with the operator", func(t *testing.T) { test(newSuite(t)) })
}

// causes lists the causes of a refusal as "field: message", sorted, without the value that the
// API server repeats in between.
func causes(err error) []string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return []string{err.Error()}
	}
	var list []string
	for _, cause := range status.Status().Details.Causes {
		message := strings.TrimPrefix(cause.Message, "Invalid value: ")
		if strings.HasPrefix(message, `"`) {
			_, message, _ = strings.Cut(message, `": `)
		}
		list = append(list, cause.Field+": "+message)
	}
	slices.Sort(list)
	return list
}

func TestSamplesApplyWithoutAnError(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	rendered := s.run("kustomize", framework.Root+"/config/samples")
	seen := map[string]bool{}
	for _, object := range s.Objects(rendered) {
		object.SetNamespace(s.Namespace)
		s.apply(framework.Text(object.Object))
		seen[object.GetAPIVersion()] = true
	}
	for _, k := range kinds {
		for _, version := range []string{"v1", "v1alpha1"} {
			if !seen[k.group+"/"+version] {
				t.Errorf("config/samples has no %s at %s", k.name, version)
			}
		}
	}
}

func TestKindsAreListedByCategoryAndShortName(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}]}`))
	s.apply(rebootPolicies.object("v1", "restart", `{targets: [{kind: Deployment, name: web}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}]}`))
	s.apply(chaosPods.object("v1", "monkey", `{target: {workload: {kind: Deployment, name: web}}, schedule: {at: "2026-01-01T00:00:00Z", interval: 24h}}`))
	s.run("wait", "--for=condition=Ready", "--timeout="+framework.Patience.String(), "extsvc/db")

	s.Expect(s.run("get", "fairlead", "-A"),
		"externalservice.networking.fairlead.dev/db", "rebootpolicy.autoreboot.fairlead.dev/restart", "chaospod.chaos.fairlead.dev/monkey")
	for _, c := range []struct {
		resource string
		columns  []string
		values   []string
	}{
		{"extsvc", []string{"NAME", "READY", "STATE", "HEALTHY", "CLUSTER-IP", "PUBLISHED", "AGE"}, []string{"db", "True", "Published", "10.96.", "2"}},
		{"rbp", []string{"NAME", "READY", "STATE", "VERIFIED", "WAITING-FOR", "LAST-RESTART", "AGE"}, []string{"restart"}},
		{"chp", []string{"NAME", "READY", "STATE", "SURVIVED", "DRY-RUN", "NEXT-RUN", "AGE"}, []string{"monkey", "true"}},
	} {
		out := s.run("get", c.resource)
		header, row, _ := strings.Cut(out, "\n")
		if diff := cmp.Diff(c.columns, strings.Fields(header)); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", c.resource, diff)
		}
		s.Expect(row, c.values...)
	}
	s.Expect(s.run("get", "extsvc", "-o", "wide"), "PRIORITY", "WAITING-FOR", "SUSPENDED", "NothingPending", "false")
	s.Expect(s.run("get", "rbp", "-o", "wide"), "DRY-RUN", "SUSPENDED", "false")
	s.Expect(s.run("get", externalServices.at("v1alpha1")), "HEALTHY", "CLUSTER-IP", "AGE", "db")
	// NEXT-RUN is the next run, not the time in the spec, which may be long past.
	s.run("wait", "--for=jsonpath={.status.nextRunTime}", "--timeout="+framework.Patience.String(), "chp/monkey")
	s.Expect(s.run("get", chaosPods.at("v1alpha1")), "NEXT-RUN", s.run("get", "chp/monkey", "--output=jsonpath={.status.nextRunTime}"))
}

func TestFieldsAreExplained(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.Expect(s.run("explain", "externalservice.spec.endpoints"), "VERSION:", "v1", "priority", "<integer>", "dns", "addresses", "-required-")
	s.Expect(s.run("explain", "externalservice.spec.probe", "--api-version=networking.fairlead.dev/v1alpha1"), "tcpSocket", "interval", "<string>")
	s.Expect(s.run("explain", "rebootpolicy.spec.triggers"), "configChange", "certificateRenewal")
}
