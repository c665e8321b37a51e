// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNotLeading is returned by Check where this replica must not act.
var ErrNotLeading = errors.New("this replica does not lead")

// unlimited is longer than any process runs.
const unlimited = time.Duration(1<<63 - 1)

// fence limits until when this replica may write, by the clock of Options.Elapsed. It is closed until the first write
// of the Lease, which opens it. Once it is shut, it stays shut.
type fence struct {
	mu    sync.Mutex
	until time.Duration
	shut  bool
}

func (f *fence) extend(until time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = until
}

func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut = true
}

// left returns how long this replica may still write.
func (f *fence) left(now time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until - now
}

func (f *fence) check(now time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.shut || f.until == 0:
		return ErrNotLeading
	case now >= f.until:
		late := (now - f.until).Round(time.Millisecond)
		return fmt.Errorf("%w: its Lease should have been renewed %s ago", ErrNotLeading, late)
	default:
		return nil
	}
}
