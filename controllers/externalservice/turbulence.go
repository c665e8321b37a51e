// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math"
	"time"
)

// changeRate is how often something has changed lately. It halves with each half-life.
type changeRate struct {
	level float64
	at    time.Time
}

// damping is how a turbulence is turned into a time to wait: none up to so many recent changes, then
// least, and twice as long with each further one, up to most.
type damping struct {
	halfLife           time.Duration
	threshold          float64
	minDelay, maxDelay time.Duration
}

var (
	// flapDamping holds the health of an address from its third fall within minutes on.
	flapDamping = damping{halfLife: 5 * time.Minute, threshold: 2.5, minDelay: 10 * time.Second, maxDelay: 3 * time.Minute}
	// writeDamping holds what is not urgent of the slices and the status of one object.
	writeDamping = damping{halfLife: time.Minute, threshold: 8, minDelay: 5 * time.Second, maxDelay: time.Minute}
)

// maxUnhealthyHold is how long an address that flaps, and for which no other is there, stays published while it
// fails, at most.
const maxUnhealthyHold = 30 * time.Second

func (d *damping) level(t *changeRate, now time.Time) float64 {
	if t.level == 0 || now.Before(t.at) {
		return t.level
	}
	return t.level * math.Exp2(-float64(now.Sub(t.at))/float64(d.halfLife))
}

// add takes in changes.
func (d *damping) add(t *changeRate, changes int, now time.Time) {
	t.level, t.at = d.level(t, now)+float64(changes), now
}

// delay is how long the next change waits.
func (d *damping) delay(t *changeRate, now time.Time) time.Duration {
	over := d.level(t, now) - d.threshold
	if over <= 0 {
		return 0
	}
	return time.Duration(min(float64(d.minDelay)*math.Exp2(over), float64(d.maxDelay)))
}

// calmAt is when there is no hold any more, provided that nothing changes until then.
func (d *damping) calmAt(t *changeRate, now time.Time) time.Time {
	level := d.level(t, now)
	if level <= d.threshold {
		return now
	}
	return now.Add(time.Duration(float64(d.halfLife)*math.Log2(level/d.threshold)) + time.Second)
}
