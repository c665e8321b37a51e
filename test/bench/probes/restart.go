// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// restart stops the leader in order, starts another, and waits until it has checked every address.
func (r *run) restart(ctx context.Context) error {
	all := r.options.Objects * PerObject
	err := r.until(ctx, time.Second, func() (bool, error) { return r.board.readyNow() == all, nil })
	if err != nil {
		return fmt.Errorf("wait for the addresses that failed: %w (%s)", err, r.board)
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	before, err := r.written(ctx)
	if err != nil {
		return err
	}
	announced, err := r.announcements(ctx)
	if err != nil {
		return err
	}
	r.stage.Retire(r.leader.Replica)
	r.leader = nil
	counts := r.counts()
	began := time.Now()
	if err := r.lead(ctx); err != nil {
		return err
	}
	if err := r.started(ctx); err != nil {
		return err
	}
	r.result.RestartStart = time.Since(began)
	err = r.until(ctx, 200*time.Millisecond, func() (bool, error) {
		for ip, before := range counts {
			if r.count(ip) <= before {
				return false, nil
			}
			delete(counts, ip)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	r.result.RestartProbing = time.Since(began)
	if err := r.settle(ctx); err != nil {
		return err
	}
	after, err := r.written(ctx)
	if err != nil {
		return err
	}
	announcedNow, err := r.announcements(ctx)
	if err != nil {
		return err
	}
	r.result.RestartWritten = after.since(before)
	r.result.RestartWrites = r.result.RestartWritten.total() - float64(announcedNow-announced)
	used, err := process.UsageOf(r.leader.PID())
	r.result.RestartMemory = used.Peak
	return err
}

// counts are the connections of every address.
func (r *run) counts() map[netip.Addr]int {
	counts := make(map[netip.Addr]int, r.options.Objects*PerObject)
	for object := range r.options.Objects {
		for _, ip := range Own(object) {
			counts[ip] = r.count(ip)
		}
	}
	return counts
}

// count is the connections of an address, on either port.
func (r *run) count(ip netip.Addr) int {
	n := 0
	for _, fleet := range []*externalnet.Fleet{r.tcp, r.http} {
		n += fleet.Count(ip)
	}
	return n
}
