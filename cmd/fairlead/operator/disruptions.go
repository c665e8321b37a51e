// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// disruptions are what the controllers that disrupt workloads share in one term: one ledger, which knows
// what all of them have under way before any of them decides, and what holds all of them.
type disruptions struct {
	cache  cache.Cache
	freeze *freeze.Freeze // the blackouts of the whole cluster
	ledger *disruption.Ledger
	// suspicions are those of the health checks of all kinds.
	suspicions probe.Suspicions

	mu       sync.Mutex
	restored bool
	wake     []func(disruption.Holder)
}

func newDisruptions(from cache.Cache, cluster *freeze.Freeze, most int) *disruptions {
	d := &disruptions{cache: from, freeze: cluster}
	d.ledger = disruption.New(disruption.Options{Most: most, Wake: d.waken})
	return d
}

// wakes adds a controller that is told of holders of its kind.
func (d *disruptions) wakes(tell func(disruption.Holder)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wake = append(d.wake, tell)
}

func (d *disruptions) waken(h disruption.Holder) {
	d.mu.Lock()
	told := slices.Clone(d.wake)
	d.mu.Unlock()
	for _, tell := range told {
		tell(h)
	}
}

// restore fills the ledger from the status of all objects, once: a controller that starts later must not
// take away what another has claimed since.
func (d *disruptions) restore(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.restored {
		return nil
	}
	for _, kind := range []client.Object{&autorebootv1.RebootPolicy{}, &chaosv1.ChaosPod{}} {
		if _, err := d.cache.GetInformer(ctx, kind); err != nil { // this waits until they have been listed
			return fmt.Errorf("list what is under way: %w", err)
		}
	}
	if err := rebootpolicy.Restore(ctx, d.cache, d.ledger); err != nil {
		return err
	}
	if err := chaospod.Restore(ctx, d.cache, d.ledger); err != nil {
		return err
	}
	d.restored = true
	return nil
}
