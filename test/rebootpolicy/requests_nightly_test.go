// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// A rollout cannot be stopped: its failures are counted to its end, and what follows is held until a person looks.
func TestRequestsThatFailDuringARolloutHaltThePolicyAfterIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.server(s.Servers.HTTP(address + ":8080"))
	s.secret("creds", "password", "first")
	for _, name := range []string{"web", "next"} {
		s.run(deployment, name, takes("creds"), replicas(2), slow("4s"))
	}
	s.policy("p", "{targets: [{kind: Deployment, name: web}, {kind: Deployment, name: next, wave: 1}], "+onConfig+", "+requests(address, ", onFailure: Halt")+"}")
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	s.Must(server.Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	s.failing("p")
	s.Must(server.Set(externalnet.Behavior{}))
	record := s.record("p", 1, autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed)
	if r := record.Requests; r.Failed < 1 || r.Failed >= r.Sent || record.Target.Name != "web" ||
		record.Message != fmt.Sprintf("%d of %d requests failed while it restarted; %d of %d of probe shop (maxFailures: 0)", r.Failed, r.Sent, r.Failed, r.Sent) {
		t.Errorf("%s", framework.Text(record))
	}
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionFalse, autorebootv1.ReasonProbesFailed)
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
	s.held("p", "next", autorebootv1.ReasonHalted)
	s.Tells(deployment, "web", "RestartFailed", 1)
	t.Logf("%s", framework.Text(record))
	// All of its pods are new: it is not restarted once more.
	s.retry("p")
	s.record("p", 2, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable)
	s.restarted(deployment, "web", 1)
	s.restarted(deployment, "next", 1)
}

// What no request could be sent for is not proven: the egress policy lets the operator into no Service of the cluster.
func TestARestartWhoseRequestsAreDeniedIsNotVerified(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	spec := func(host string) string {
		return "{" + targets(deployment, "web") + ", " + onConfig + ", verification: {soak: 1s, timeout: 30s, probes: [{name: shop, host: " + host + ", tcpSocket: {port: 443}}]}}"
	}
	s.refused(s.Client.Create(s.Context(), s.Object(s.manifest("p", spec("10.96.0.1")))), "spec.verification.probes[0].host", "name the host that clients outside of the cluster use")
	s.policy("p", spec("nowhere.example.org"))
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	record := s.record("p", 1, autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed)
	if record.Requests.Sent != 0 || !strings.HasPrefix(record.Message, "no request of probe shop was sent") {
		t.Errorf("%s", framework.Text(record))
	}
	t.Logf("%s", framework.Text(record))
}

func TestARestartIsProvenByTheRequestsThatDidNotFail(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.server(s.Servers.HTTP(address + ":8080"))
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", "+requests(address, "")+"}")
	s.watching("p", 1)
	if n := server.Counts().Requests; n != 0 {
		t.Errorf("%d requests though nothing restarts", n)
	}
	s.secret("creds", "password", "second")
	record := s.record("p", 1, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable)
	if r := record.Requests; r.Sent < 8 || r.Failed != 0 || r.Inconclusive != 0 ||
		record.Message != fmt.Sprintf("0 of %d requests failed while it restarted", r.Sent) {
		t.Errorf("%s", framework.Text(record))
	}
	if latest := server.Counts().Latest; len(latest) == 0 || latest[0].Path != "/cart" {
		t.Errorf("requests %+v", latest)
	}
	s.Tells("RebootPolicy", "p", "RestartVerified", 1)
	s.explains("p", autorebootv1.ConditionVerified, record.Message)
	s.Expect(s.Kubectl("get", "rebootpolicy", "p", "-o", "jsonpath={.status.history[0].message}"), record.Message)
	sent := server.Counts().Requests
	s.Never(func() error {
		if n := server.Counts().Requests; n > sent+1 { // one may have been under way
			return fmt.Errorf("%d more requests after the end of the restart", n-sent)
		}
		return nil
	})
	t.Logf("%s", framework.Text(record))
}
