// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestKubectlWaitsAndTellsWithTheOutsideDown(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	addresses, servers := s.tcp(5432, 3)
	s.apply("db", fmt.Sprintf(`{ports: [{name: sql, port: 5432}], failover: {failbackDelay: 1s},
		endpoints: [{name: a, addresses: [%s]}, {name: b, priority: 1, addresses: [%s]}], %s}`, addresses[0], addresses[1], quickly))
	s.Kubectl("wait", "--for=condition=Ready", "--timeout="+framework.Patience.String(), "externalservice/db")
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.normal("db")
	clusterIP := s.service("db").Spec.ClusterIP
	s.Row("extsvc", "db", map[string]string{"NAME": "db", "READY": "True", "HEALTHY": "True", "CLUSTER-IP": clusterIP, "PUBLISHED": "1", "PRIORITY": "0", "STATE": networkingv1.ReasonPublished})

	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[0])
	s.condition("db", networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy)
	s.publishes("db", addresses[1])
	s.Row("extsvc", "db", map[string]string{"READY": "True", "HEALTHY": "True", "PUBLISHED": "1", "PRIORITY": "1"})
	s.set(externalnet.Behavior{Fault: externalnet.Refuse}, servers[1])
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	s.publishes("db") // none
	s.Row("extsvc", "db", map[string]string{"READY": "True", "HEALTHY": "False", "PUBLISHED": "0", "STATE": networkingv1.ReasonPublished})
	s.normal("db") // that the outside is down is no trouble of the rollout
	s.Kubectl("wait", "--for=condition=Ready", "--timeout="+framework.Patience.String(), "externalservice/db")

	s.set(externalnet.Behavior{}, servers[0], servers[1])
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.publishes("db", addresses[0])
	s.Row("extsvc", "db", map[string]string{"PRIORITY": "0", "HEALTHY": "True"})
	// Each of these happened once to each endpoint, and was told once.
	for reason, times := range map[string]int{networkingv1.ReasonPublished: 1, "FailedOver": 1, "FailedBack": 1, "EndpointUnhealthy": 2, "EndpointHealthy": 2} {
		s.Tells("ExternalService", "db", reason, times)
	}
}

func TestMetricsAreOfBoundedLabelsAndGoWithTheirObject(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	addresses, _ := s.tcp(5432, 1)
	s.Must(s.Servers.DNS.Addresses(s.host("db"), time.Second, addresses[0], "169.254.169.254"))
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: `+s.host("db")+`}}], `+quickly+`}`)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	const prefix = "fairlead_externalservice_"
	own := fmt.Sprintf("namespace=%q", s.Namespace)
	all := s.Samples()
	for _, name := range ofObjects {
		if rows := all.Rows(prefix+name, own); len(rows) == 0 {
			t.Errorf("no %s%s of the object", prefix, name)
		}
	}
	for _, name := range ofAll {
		rows := slices.Concat(all.Rows("fairlead_"+name), all.Rows("fairlead_"+name+"_count"))
		if len(rows) == 0 || len(rows) > 300 { // of three kinds
			t.Errorf("%d rows of fairlead_%s", len(rows), name)
		}
	}
	isOurs := func(row string) bool {
		return strings.HasPrefix(row, prefix) || strings.HasPrefix(row, "fairlead_probe_")
	}
	if n := all.Sum(prefix+"addresses", own, `name="db"`, `state="Denied"`); n != 1 {
		t.Errorf("%v addresses are counted as denied, want 1", n)
	}
	// Nothing that the outside chooses is a label.
	for row := range all {
		if isOurs(row) && (strings.Contains(row, addresses[0]) || strings.Contains(row, "169.254") || strings.Contains(row, s.host("db"))) {
			t.Errorf("a label of unbounded values: %s", row)
		}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(row, -1) {
			if isOurs(row) && !slices.Contains([]string{"namespace", "name", "endpoint", "state", "reason", "event", "result", "outcome", "kind", "protocol", "family", "type", "le"}, label[1]) {
				t.Errorf("an unexpected label %s: %s", label[1], row)
			}
		}
	}
	s.delete("db")
	s.vanishes("db")
	s.Eventually(func() error {
		for row := range s.Samples() {
			if strings.HasPrefix(row, prefix) && strings.Contains(row, own) {
				return fmt.Errorf("left behind: %s", row)
			}
		}
		return nil
	})
}
