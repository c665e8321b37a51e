// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// policy denies what it does not name. The second address that it denies comes with the restart.
const policy = `
apiVersion: config.fairlead.dev/v1alpha1
kind: FairleadConfiguration
egress:
  default: Deny
  allow:
  - {cidrs: [203.0.113.0/25], ports: [7443], namespaces: [shop]}
  - {cidrs: [203.0.113.128/25, 10.96.55.0/24, 100.100.100.200/32]}
  - {cidrs: [192.0.2.1/32], namespaces: [default]} # by which the stage finds out that webhooks answer
  deny:
  - {cidrs: [203.0.113.200/32%s]}
`

// governed is a suite with a control plane and one replica of its own, under the policy.
func governed(t *testing.T) (s *suite, restart func(policy string)) {
	t.Helper()
	common := newSuite(t)
	own := tests.OpenFor(t, framework.Options{Servers: common.Servers, Cluster: cluster.Options{WithoutControllerManager: true}})
	s = &suite{framework.Test{T: t, Cluster: own, Namespace: "shop"}}
	file := filepath.Join(t.TempDir(), "config.yaml")
	var running *framework.Replica
	restart = func(policy string) {
		t.Helper()
		if running != nil {
			own.Retire(running)
		}
		s.Must(os.WriteFile(file, []byte(policy), 0o600))
		var err error
		running, err = own.StartReplica(t.Context(), framework.Patient("--config="+file)...)
		s.Must(err)
		s.Must(own.Reachable(t.Context()))
	}
	return s, restart
}

func TestTheConfiguredPolicyDecides(t *testing.T) {
	t.Parallel()
	s, restart := governed(t)
	restart(fmt.Sprintf(policy, ""))
	spec := func(address string, port int) string {
		return fmt.Sprintf(`{ports: [{name: web, port: %d}], endpoints: [{name: a, addresses: [%q]}]}`, port, address)
	}
	for _, namespace := range []string{"shop", "dev"} {
		s.Must(s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	}
	const path = "spec.endpoints[0].addresses[0]"
	for name, c := range map[string]struct {
		namespace, address string
		port               int
		refused            string // "" where it is allowed; the writer is the administrator
	}{
		"named":            {"shop", "203.0.113.10", 7443, ""},
		"other-port":       {"shop", "203.0.113.10", 7444, "NotAllowed"},
		"other-namespace":  {"dev", "203.0.113.10", 7443, "NotAllowed"},
		"everywhere":       {"dev", "203.0.113.130", 7444, ""},
		"denied":           {"shop", "203.0.113.200", 7443, "DeniedByPolicy"},
		"not-named":        {"shop", "198.51.100.1", 7443, "NotAllowed"},
		"cluster-named":    {"shop", "10.96.55.7", 7443, ""},
		"cluster-by-right": {"shop", "10.96.56.7", 7443, ""},
		"metadata-named":   {"shop", "100.100.100.200", 7443, ""},
		"metadata":         {"shop", "fd00:ec2::254", 7443, "Metadata"},
	} {
		object := s.object("v1", name, spec(c.address, c.port))
		object.SetNamespace(c.namespace)
		err := s.Client.Create(t.Context(), object)
		if c.refused == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.refused != "" {
			if err := expected(err, path, c.address, "("+c.refused+")", "egress policy"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	s.publishes("named", "203.0.113.10")

	// What the policy opens of the cluster is open to names as well, and nothing else is.
	s.Must(s.Servers.DNS.Addresses("policy.example.com", time.Second, "10.96.55.8", "10.96.56.8", "203.0.113.140", "203.0.113.141", "203.0.113.200", "198.51.100.1"))
	s.Must(s.Client.Create(t.Context(), s.object("v1", "resolved", `{ports: [{name: web, port: 7443}], endpoints: [{name: a, dns: {name: policy.example.com}}], `+hasten+`}`)))
	s.publishes("resolved", "10.96.55.8", "203.0.113.140", "203.0.113.141")

	// To suspend an object does not make it immune, whether its address stands in it or came by a name.
	both := func(name, endpoint string) {
		s.Must(s.Client.Create(t.Context(), s.object("v1", name, `{ports: [{name: web, port: 7443}], endpoints: [`+endpoint+`], `+hasten+`}`)))
	}
	both("asleep", `{name: a, addresses: [203.0.113.10, 203.0.113.11]}`)
	both("asleep-by-name", `{name: a, dns: {name: policy.example.com}}`)
	s.publishes("asleep", "203.0.113.10", "203.0.113.11")
	s.publishes("asleep-by-name", "10.96.55.8", "203.0.113.140", "203.0.113.141")
	s.publishes("cluster-by-right", "10.96.56.7")
	for _, name := range []string{"asleep", "asleep-by-name", "cluster-by-right"} {
		s.change(name, func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) })
	}

	// A policy that changes reaches what is published.
	restart(fmt.Sprintf(policy, ", 203.0.113.10/32, 203.0.113.140/32"))
	s.condition("named", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonPolicyDenied)
	s.publishes("named")
	s.publishes("resolved", "10.96.55.8", "203.0.113.141")
	s.publishes("asleep", "203.0.113.11")
	s.publishes("asleep-by-name", "10.96.55.8", "203.0.113.141")
	for _, name := range []string{"asleep", "asleep-by-name"} {
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonPolicyDenied)
	}

	// Nor does it outlive the approval, which only a write past the webhooks can take away.
	s.publishes("cluster-by-right", "10.96.56.7")
	s.Kubectl("delete", "mutatingwebhookconfiguration/fairlead-externalservice", "validatingwebhookconfiguration/fairlead-externalservice")
	s.Eventually(func() error {
		var es networkingv1.ExternalService
		if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "cluster-by-right"}, &es); err != nil {
			return err
		}
		delete(es.Annotations, common.ApprovedByAnnotation)
		if err := s.Client.Update(t.Context(), &es); err != nil {
			return err
		}
		if es.Annotations[common.ApprovedByAnnotation] != "" {
			return fmt.Errorf("webhooks are still called, and put the approval back")
		}
		return nil
	})
	s.publishes("cluster-by-right")
	s.condition("cluster-by-right", networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonPolicyDenied)
}
