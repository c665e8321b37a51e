// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"sync"
	"time"
)

// silenceFor is how long an API server that has not responded is not asked.
const silenceFor = time.Second

// silence remembers that the API server did not answer, so that one request finds out whether it does
// again, and all others learn at once that another replica must be asked. Each would wait for its whole
// timeout otherwise, and leave the API server that called it no time for another replica.
type silence struct {
	mu     sync.Mutex
	silent bool
	trying bool
	until  time.Time
}

// ask says whether to ask now. The caller that does reports the outcome by heard.
func (s *silence) ask(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.silent {
		return true
	}
	if s.trying || now.Before(s.until) {
		return false
	}
	s.trying = true
	return true
}

func (s *silence) heard(answered bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent, s.trying, s.until = !answered, false, now.Add(silenceFor)
}
