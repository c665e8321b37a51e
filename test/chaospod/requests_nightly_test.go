// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// A server that hangs fails each request by its timeout. The other pods are ready all the time.
func TestRequestsThatFailWhilePodsDieHaltTheChaosPod(t *testing.T) {
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.server(s.Servers.HTTP(address + ":8080"))
	s.run("web", 3, "")
	s.chaos("c", proven("20s", address))
	s.now("c", "1")
	s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
		if c := st.CurrentRun; c == nil || c.Phase != chaosv1.RunVerifying {
			return fmt.Errorf("nothing has died")
		}
		return nil
	})
	s.Must(server.Set(externalnet.Behavior{Delay: 5 * time.Second}))
	run := s.ended("c", 1, chaosv1.ResultProbesFailed)
	if r := run.Requests; run.Reason != chaosv1.ReasonProbesFailed || run.Killed != 1 || r.Failed < 1 || r.Failed >= r.Sent ||
		!strings.HasPrefix(run.Message, fmt.Sprintf("%d of %d requests failed while pods died; %[1]d of %[2]d of probe shop (maxFailures: 0); died: pod web-", r.Failed, r.Sent)) {
		t.Errorf("%s", framework.Text(run))
	}
	s.condition("c", chaosv1.ConditionSurvived, metav1.ConditionFalse, chaosv1.ReasonProbesFailed)
	s.condition("c", chaosv1.ConditionStalled, metav1.ConditionTrue, chaosv1.ReasonProbesFailed)
	s.told("Deployment", "web", "ProbesFailed")
	t.Logf("%s", framework.Text(run))
}

func TestNothingDiesWhereAProbeFailsAlready(t *testing.T) {
	s := newSuite(t)
	address := s.Servers.Address()
	s.Must(s.server(s.Servers.HTTP(address + ":8080")).Set(externalnet.Behavior{Status: 503}))
	s.run("web", 3, "")
	before := s.pods("web")
	s.chaos("c", proven("5s", address))
	s.now("c", "1")
	run := s.ended("c", 1, chaosv1.ResultNoVictim)
	if died := gone(before, s.pods("web")); len(died) > 0 || run.Reason != chaosv1.ReasonProbesFailed ||
		!strings.HasPrefix(run.Message, "1 of 1 requests failed before any pod was killed") {
		t.Errorf("%q died: %s", died, framework.Text(run))
	}
	s.condition("c", chaosv1.ConditionSurvived, metav1.ConditionUnknown, chaosv1.ReasonNoRun)
}

// Where no request can be sent, nothing is proven: the egress policy lets the operator into no Service of the cluster, and into no
// name that leads there.
func TestNothingDiesWhereTheRequestsAreDenied(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	err := s.Client.Create(s.Context(), s.Object(s.manifest("c", strings.ReplaceAll(proven("5s", "10.96.0.1"), "8080", "443"))))
	if err == nil || !strings.Contains(err.Error(), "spec.verification.probes[0].host") || !strings.Contains(err.Error(), "name the host that clients outside of the cluster use") {
		t.Errorf("an address of the cluster: %v", err)
	}
	before := s.pods("web")
	s.chaos("c", proven("5s", "nowhere.example.org"))
	s.now("c", "1")
	s.says("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonProbesFailed, "no request of probe shop has succeeded (")
	s.edit("suspend: true") // which ends it, and no pod has died
	run := s.ended("c", 1, chaosv1.ResultNoVictim)
	if died := gone(before, s.pods("web")); len(died) > 0 || run.Requests == nil || run.Requests.Sent != 0 {
		t.Errorf("%q died: %s", died, framework.Text(run))
	}
}

// TestALeaderThatIsKilledTakesNoFailedRequestWithIt has the leader killed between the deaths and the verdicts: requests of the
// clients of one workload have failed until then, and all of the other have succeeded. It takes replicas down, and so runs before
// all tests that run in parallel.
func TestALeaderThatIsKilledTakesNoFailedRequestWithIt(t *testing.T) {
	s := newSerialSuite(t)
	servers := map[string]*externalnet.Server{}
	for _, name := range []string{"well", "ill"} {
		address := s.Servers.Address()
		servers[name] = s.server(s.Servers.HTTP(address + ":8080"))
		s.Make(fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: 2, minReadySeconds: 25, selector: {matchLabels: {app: %[1]s}},
			template: {metadata: {labels: {app: %[1]s}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}}}`, name))
		s.chaos(name, strings.Replace(proven("5s", address), "name: web}", "name: "+name+"}", 1))
	}
	for name := range servers {
		s.available(name, 2)
		s.now(name, "1")
	}
	shows := func(name string, is func(*chaosv1.CurrentRun) bool) {
		s.Helper()
		s.shows(name, func(st *chaosv1.ChaosPodStatus) error {
			if c := st.CurrentRun; c == nil || c.Phase != chaosv1.RunVerifying || len(c.Probes) != 1 || !is(c) {
				return fmt.Errorf("the run is not there yet")
			}
			return nil
		})
	}
	for name := range servers {
		shows(name, func(c *chaosv1.CurrentRun) bool { return c.Probes[0].Failed == 0 })
	}
	s.Must(servers["ill"].Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	shows("ill", func(c *chaosv1.CurrentRun) bool { return c.Probes[0].Failed > 0 })
	s.Must(servers["ill"].Set(externalnet.Behavior{}))
	s.KillLeader()
	const untold = "none was sent while no replica led"
	well := s.ended("well", 1, chaosv1.ResultSurvived)
	if r := well.Requests; well.Killed != 1 || r.Failed != 0 || r.Sent == 0 || int(r.Sent) > servers["well"].Counts().Requests || !strings.Contains(well.Message, untold) {
		t.Errorf("%s", framework.Text(well))
	}
	ill := s.ended("ill", 1, chaosv1.ResultProbesFailed)
	if r := ill.Requests; ill.Killed != 1 || r.Failed == 0 || r.Failed >= r.Sent || !strings.Contains(ill.Message, untold) {
		t.Errorf("%s", framework.Text(ill))
	}
	t.Logf("%s\n%s", framework.Text(well), framework.Text(ill))
}

// A run goes on while its ChaosPod is suspended and edited, and so do its requests.
func TestARunThatIsEditedKeepsItsRequests(t *testing.T) {
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.server(s.Servers.HTTP(address + ":8080"))
	s.run("web", 3, "")
	s.chaos("c", proven("8s", address))
	s.now("c", "1")
	s.counted(0)
	s.edit("suspend: true, verification: {probes: [{name: shop, host: " + address + ", httpGet: {port: 8080, path: /other}, interval: 500ms, timeout: 500ms, maxFailures: 1000}]}")
	run := s.ended("c", 1, chaosv1.ResultSurvived)
	if latest := server.Counts().Latest; len(latest) == 0 || latest[len(latest)-1].Path != "/other" && latest[0].Path != "/other" || run.Requests == nil || run.Requests.Sent < 10 || run.Requests.Failed != 0 {
		t.Errorf("%+v: %s", latest, framework.Text(run))
	}
}
