// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"testing"
)

// TestAChangeRightAfterTheCreationOfAWorkloadSurvivesTheLeader is the same while the leader is killed, before it has recorded what it saw.
func TestAChangeRightAfterTheCreationOfAWorkloadSurvivesTheLeader(t *testing.T) {
	s := newSuite(t)
	s.newWorkloads(30, s.KillLeader)
}
