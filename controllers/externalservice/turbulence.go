// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math"
	"time"
)

// turbulence is how often something has changed lately. It halves with each half-life.
type turbulence struct {
	level float64
	at    time.Time
}

// damping is how a turbulence is turned into a time to wait: none up to so many recent changes, then
// least, and twice as long with each further one, up to most.
type damping struct {
	halfLife    time.Duration
	free        float64
	least, most time.Duration
}

var (
	// flapping holds the health of an address from its third fall within minutes on.
	flapping = damping{halfLife: 5 * time.Minute, free: 2.5, least: 10 * time.Second, most: 3 * time.Minute}
	// writing holds what is not urgent of the slices and the status of one object.
	writing = damping{halfLife: time.Minute, free: 8, least: 5 * time.Second, most: time.Minute}
)

// lasting is how long an address that flaps, and for which no other is there, stays published while it
// fails, at most.
const lasting = 30 * time.Second

func (d *damping) now(t *turbulence, now time.Time) float64 {
	if t.level == 0 || now.Before(t.at) {
		return t.level
	}
	return t.level * math.Exp2(-float64(now.Sub(t.at))/float64(d.halfLife))
}

// count takes in changes.
func (d *damping) count(t *turbulence, changes int, now time.Time) {
	t.level, t.at = d.now(t, now)+float64(changes), now
}

// hold is how long the next change waits.
func (d *damping) hold(t *turbulence, now time.Time) time.Duration {
	over := d.now(t, now) - d.free
	if over <= 0 {
		return 0
	}
	return time.Duration(min(float64(d.least)*math.Exp2(over), float64(d.most)))
}

// calm is when there is no hold any more, provided that nothing changes until then.
func (d *damping) calm(t *turbulence, now time.Time) time.Time {
	level := d.now(t, now)
	if level <= d.free {
		return now
	}
	return now.Add(time.Duration(float64(d.halfLife)*math.Log2(level/d.free)) + time.Second)
}
