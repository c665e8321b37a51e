// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"io"
)

// smallBody is how many bytes of a body every request may send. Reviews of our kinds take a few
// kilobytes.
const smallBody = 1 << 20

// turnedBody lets a body go on past smallBody only once there is a place for a large one. Anybody
// who reaches the port may send bodies up to the limit; without this the process would hold as
// many of them as requests are worked on at once.
type turnedBody struct {
	io.ReadCloser
	ctx    context.Context
	places chan struct{}
	read   int64
	held   bool
}

func (b *turnedBody) Read(p []byte) (int, error) {
	if !b.held && b.read >= smallBody {
		select {
		case b.places <- struct{}{}:
			b.held = true
		case <-b.ctx.Done():
			return 0, context.Cause(b.ctx)
		}
	}
	if !b.held && int64(len(p)) > smallBody-b.read {
		p = p[:smallBody-b.read]
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	return n, err
}

// release gives the place back, once the request is answered and its body no longer needed.
func (b *turnedBody) release() {
	if b.held {
		<-b.places
		b.held = false
	}
}
