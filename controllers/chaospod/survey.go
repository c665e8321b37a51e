// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/chaos"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// observation is what one look at a ChaosPod has found.
type observation struct {
	key types.NamespacedName
	now time.Time
	// stored is the ChaosPod as the API server has it, and spec the same with the defaults filled in.
	stored, spec *chaosv1.ChaosPod
	state        *objectState
	// blockedBy is why nothing may be done; zero when normal.
	blockedBy chaos.Obstacle
	// blackoutsUnknown says that it is not known which blackouts the cluster has: nothing is killed.
	blackoutsUnknown bool
	// confirmed says that stored is what the API server has: it was just written, or read.
	confirmed bool
	// claimed is what the ledger has for the ChaosPod.
	claimed []disruption.Claim
	// requeue is when to look once more, whatever the decision says.
	requeue time.Time
}

func (o *observation) requeueAt(at time.Time) { o.requeue = controller.Earliest(o.requeue, at) }
