// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import "github.com/fairlead-dev/fairlead/test/framework"

// leader waits for a replica that leads and is through its whole start.
func (s *scene) leader() *framework.Replica {
	s.Helper()
	leader, err := s.play.Leader(s.Context())
	s.must(err)
	return leader
}

// killLeader ends the leader by SIGKILL, and returns when another replica leads and there are two
// again.
func (s *scene) killLeader() {
	s.Helper()
	s.must(s.play.KillLeader(s.Context(), suite))
}

// restartOperator stops every replica in order, and returns when one of two new ones leads. While
// no replica runs, between may change what there is; it may be nil.
func (s *scene) restartOperator(between func()) {
	s.Helper()
	s.must(s.play.Renew(s.Context(), suite, between))
}
