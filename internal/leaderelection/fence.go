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

// fence is until when this replica may act. It closes by itself, by a clock that also runs while
// nothing else of the process does.
type fence struct {
	mu    sync.Mutex
	open  bool
	until time.Duration
}

// extend opens it for as long as a term lasts that was written and not refused.
func (f *fence) extend(t term) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.until = true, unlimited
	if t.lasts < unlimited-t.sent {
		f.until = t.sent + t.lasts
	}
}

func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = false
}

func (f *fence) check(now time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.open:
		return ErrNotLeading
	case now >= f.until:
		return fmt.Errorf("%w: its Lease should have been renewed %s ago", ErrNotLeading, (now - f.until).Round(time.Millisecond))
	default:
		return nil
	}
}

// tenure is how long after a write of the Lease this replica may act.
func (e *Elector) tenure() time.Duration {
	if e.Life != nil {
		return unlimited
	}
	return e.RenewDeadline
}
