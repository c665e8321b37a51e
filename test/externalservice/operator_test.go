// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import "github.com/fairlead-dev/fairlead/test/framework"

// leader waits for a replica that leads and is through its whole start.
func (s *suite) leader() *framework.Replica {
	s.Helper()
	leader, err := s.shared.Leader(s.Context())
	s.must(err)
	return leader
}

// killLeader ends the leader by SIGKILL, and returns when another replica leads and there are two
// again.
func (s *suite) killLeader() {
	s.Helper()
	s.must(s.shared.KillLeader(s.Context(), suiteContext))
}

// restartOperator stops every replica in order, and returns when one of two new ones leads. While
// no replica runs, between may change what there is; it may be nil.
func (s *suite) restartOperator(between func()) {
	s.Helper()
	s.must(s.shared.Renew(s.Context(), suiteContext, between))
}
