// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// It is away for less than the Lease lasts.
func TestARestartOfTheAPIServerIsSurvived(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	s.Must(s.Component(cluster.APIServer).Restart(t.Context()))
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	if r.PID() == 0 {
		t.Error("the process has ended")
	}
}
