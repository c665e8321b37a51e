// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// TestALeaderThatIsKilledTakesNoFailedRequestWithIt has the leader killed in the midst of two rollouts: requests of the clients
// of one have failed until then, and all of the other have succeeded.
func TestALeaderThatIsKilledTakesNoFailedRequestWithIt(t *testing.T) {
	s := newSuite(t)
	servers := map[string]*externalnet.Server{}
	for _, name := range []string{"well", "ill"} {
		address := s.Servers.Address()
		servers[name] = s.server(s.Servers.HTTP(address + ":8080"))
		s.secret(name, "password", "first")
		s.run(deployment, name, takes(name), replicas(2), slow(longRollout))
		s.policy(name, "{"+targets(deployment, name)+", "+onConfig+", "+requests(address, "")+"}")
		s.watching(name, 1)
	}
	for name := range servers {
		s.secret(name, "password", "second")
	}
	for name := range servers {
		s.rolling(name, autorebootv1.PhaseRollingOut)
	}
	s.Must(servers["ill"].Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	s.failing("ill")
	s.Must(servers["ill"].Set(externalnet.Behavior{}))
	before := servers["well"].Counts().Requests
	s.KillLeader()
	const untold = "none was sent while no replica led"
	well := s.record("well", 1, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable)
	if r := well.Requests; r.Failed != 0 || r.Sent == 0 || int(r.Sent) > servers["well"].Counts().Requests || !strings.HasSuffix(well.Message, untold) {
		t.Errorf("%d requests before: %s", before, framework.Text(well))
	}
	ill := s.record("ill", 1, autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed)
	if r := ill.Requests; r.Failed == 0 || r.Failed >= r.Sent || !strings.Contains(ill.Message, untold) {
		t.Errorf("%s", framework.Text(ill))
	}
	for name := range servers {
		s.restarted(deployment, name, 1)
	}
	t.Logf("%s\n%s", framework.Text(well), framework.Text(ill))
}
