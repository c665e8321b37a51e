// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock takes the lock file at path, which the kernel frees when its holder dies, and returns what
// frees it. It calls waiting once if another process holds it. The file stays: removing it would let
// two processes hold locks on two files of one name.
func lock(ctx context.Context, path string, waiting func()) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // there is nothing in it
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, context.Cause(ctx)), f.Close())
		case <-ticker.C:
		}
	}
}
