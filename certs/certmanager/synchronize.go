// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"cmp"
	"context"
	"errors"

	"github.com/fairlead-dev/fairlead/certs/keypair"
)

// synchronize loads what cert-manager has issued, and reports whether it waits until a new authority is
// trusted everywhere. Only at the start does it update the operator's own objects; later it creates missing
// ones, since replicas with different configurations, as during a rollout, would otherwise revert each
// other's changes.
func (s *Source) synchronize(ctx context.Context, start bool) (waits bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	var ensureErr error
	if start || now.Sub(s.ensuredAt) >= interval || now.Before(s.ensuredAt) {
		if ensureErr = s.withTimeout(ctx, func(ctx context.Context) error { return s.ensureObjects(ctx, start) }); ensureErr == nil {
			s.ensuredAt = now
		}
		if errors.Is(ensureErr, errRefused) {
			return false, ensureErr
		}
	}
	var found *keypair.Pair
	err = s.withTimeout(ctx, func(ctx context.Context) (err error) {
		if found, err = s.readIssued(ctx); err != nil && ensureErr == nil {
			err = s.explainUnusable(ctx, err)
		}
		return err
	})
	if err != nil {
		return false, cmp.Or(ensureErr, err)
	}
	if ensureErr != nil && !start {
		err = ensureErr // reported, and no reason to ignore what is there
	} else if ensureErr != nil {
		s.options.Log.Info("serving what was issued before", "reason", ensureErr.Error())
	}
	waits, useErr := s.Use(ctx, found)
	return waits, errors.Join(err, useErr)
}
