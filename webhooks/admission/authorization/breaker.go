// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"sync"
	"time"
)

// openFor is how long no review is sent to an API server that has not responded.
const openFor = time.Second

// apiServerBreaker is a circuit breaker: once the API server has not responded, one request finds out
// whether it does again, and all others fail at once. Each would wait for its whole timeout otherwise, and
// leave the API server that called it no time to try another replica.
type apiServerBreaker struct {
	mu     sync.Mutex
	open   bool
	trying bool
	until  time.Time
}

// allow reports whether a request may be sent now. Its caller reports the outcome by done.
func (b *apiServerBreaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		return true
	}
	if b.trying || now.Before(b.until) {
		return false
	}
	b.trying = true
	return true
}

// abandon takes the place of done for a request that its caller ended: it says nothing about the API server.
func (b *apiServerBreaker) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}

func (b *apiServerBreaker) done(responded bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.trying, b.until = !responded, false, now.Add(openFor)
}
