// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"fmt"
	"sync"
	"time"
)

// unlimited is longer than anything runs.
const unlimited = time.Duration(1<<63 - 1)

// writeGuard is until when this replica may act. It closes by itself, by a clock that also runs while
// nothing else of the process does.
type writeGuard struct {
	mu      sync.Mutex
	allowed bool
	until   time.Duration
}

// allow opens it for as long as a term lasts that was written and not refused.
func (f *writeGuard) allow(t term) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.allowed, f.until = true, unlimited
	if t.validity < unlimited-t.sent {
		f.until = t.sent + t.validity
	}
}

func (f *writeGuard) revoke() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.allowed = false
}

func (f *writeGuard) check(now time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.allowed:
		return ErrNotLeading
	case now >= f.until:
		return fmt.Errorf("%w: its Lease should have been renewed %s ago", ErrNotLeading, (now - f.until).Round(time.Millisecond))
	default:
		return nil
	}
}

// leaseValidity is how long after a write of the Lease this replica may act.
func (e *Elector) leaseValidity() time.Duration {
	if e.Life != nil {
		return unlimited
	}
	return e.RenewDeadline
}
