// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"
)

// free is how much memory the process holds that nothing is in, in bytes.
func free() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// hold uses so many bytes of memory until it returns.
func hold(bytes int) {
	held := make([]byte, bytes)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	runtime.KeepAlive(held)
}

func TestAQuietProcessReturnsWhatItsStartNeeded(t *testing.T) {
	const burst = 256 << 20
	hold(burst)
	runtime.GC() // it is free now, and still the process's
	if before := free(); before < burst/2 {
		t.Fatalf("%d MiB are free: nothing is tested", before>>20)
	}
	clock := clocktesting.NewFakeClock(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ReleaseWhenIdle(clock)(ctx) }()
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		if clock.HasWaiters() {
			clock.Step(quietTime)
		}
		return free() < burst/4, nil
	})
	if err != nil {
		t.Errorf("%d MiB are free: %v", free()>>20, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheEnvironmentDecidesHowMuchGarbageThereIs(t *testing.T) {
	before := debug.SetGCPercent(123)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "123")
	SetGCPercent(50)
	if percent := debug.SetGCPercent(123); percent != 123 {
		t.Errorf("%d percent, although the environment says 123", percent)
	}
	t.Setenv("GOGC", "")
	SetGCPercent(50)
	if percent := debug.SetGCPercent(123); percent != 50 {
		t.Errorf("%d percent, want 50", percent)
	}
}
