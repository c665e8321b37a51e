// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// stepBy is beyond two thirds of the seven days that a certificate is valid: a replica that believes it
// renews.
const stepBy = 6 * 24 * time.Hour

// clockOf is the file by which the clock of a replica is set. The clock is that of its certificates: what
// the election counts has passed, whatever the time of day is.
func (s *site) clockOf(r *replica) string { return filepath.Join(s.Folder(), r.ID+".clock") }

// stepClocks sets the clock of each replica ahead by days, one after the other, until all have renewed
// their certificates by it, and then back.
func stepClocks(ctx context.Context, a *attempt) error {
	w, err := a.watch(ctx)
	if err != nil {
		return err
	}
	defer w.close(a)
	set := func(by time.Duration) error {
		for _, r := range a.running() {
			if err := os.WriteFile(a.clockOf(r), []byte(by.String()), 0o600); err != nil {
				return err
			}
			a.printf("the clock of %s is set to %s ahead", r.ID, by)
			if err := pause(ctx, 5*time.Second); err != nil {
				return err
			}
		}
		return nil
	}
	if err := set(stepBy); err != nil {
		return err
	}
	if err := w.shows(ctx, 2); err != nil {
		return err
	}
	if err := set(0); err != nil {
		return err
	}
	// The root is looked after once a minute: by then each knows that its clock went back.
	if err := pause(ctx, 90*time.Second); err != nil {
		return err
	}
	a.note("the clocks of %d replicas were set ahead by %s, until each had renewed its certificate, and back", replicas, stepBy)
	return a.inService(ctx, replicas)
}
