// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"sync"
	"time"
)

// openFor is how long no review is sent after the API server did not respond.
const openFor = time.Second

// apiServerBreaker is a circuit breaker for reviews. After the API server did not respond, one request tests it again,
// and all others fail at once. Otherwise each would wait for its whole timeout, and its caller would have no time to
// try another replica.
type apiServerBreaker struct {
	mu     sync.Mutex
	open   bool
	trying bool
	until  time.Time
}

// allow reports whether a request may be sent now. The caller must then call done or abandon.
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

// abandon replaces done for a request that its caller has canceled, which proves nothing about the API server.
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
