// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
)

func TestUntil(t *testing.T) {
	cause := errors.New("cause")
	for title, test := range map[string]struct {
		errs     func(attempt int) error
		attempts int           // exactly; 0 for any number
		atLeast  time.Duration // before it ends
		atMost   time.Duration
		ends     error
		lines    int
	}{
		"success":             {func(int) error { return nil }, 1, 0, 0, nil, 0},
		"third time":          {func(n int) error { return unless(n >= 3, cause) }, 3, 600 * time.Millisecond, 720 * time.Millisecond, nil, 1},
		"final":               {func(int) error { return Final(cause) }, 1, 0, 0, cause, 0},
		"final, wrapped":      {func(int) error { return fmt.Errorf("x: %w", Final(cause)) }, 1, 0, 0, cause, 0},
		"final among others":  {func(int) error { return errors.Join(errors.New("x"), Final(cause)) }, 1, 0, 0, cause, 0},
		"bounded":             {func(int) error { return Bounded(cause) }, 0, 30 * time.Second, 36 * time.Second, cause, 1},
		"bounded among other": {func(int) error { return errors.Join(cause, Bounded(errors.New("x"))) }, 0, 30 * time.Second, 36 * time.Second, cause, 1},
		"transient":           {func(int) error { return cause }, 0, time.Hour, time.Hour, context.DeadlineExceeded, 1},
		"bounded now and then": {func(n int) error {
			if n%2 == 0 {
				return Bounded(cause)
			}
			return errors.New("other") // which of the two is the last one is up to the jitter
		}, 0, time.Hour, time.Hour, context.DeadlineExceeded, 2},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines, attempts := 0, 0
				log := funcr.New(func(string, string) { lines++ }, funcr.Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				err := Until(ctx, Policy{Log: log, BoundedTimeout: 30 * time.Second}, func(context.Context) error {
					attempts++
					return test.errs(attempts)
				})
				if !errors.Is(err, test.ends) || (test.ends == nil) != (err == nil) {
					t.Errorf("ends with %v, want %v", err, test.ends)
				}
				if took := time.Since(began); took < test.atLeast || took > test.atMost {
					t.Errorf("took %s, want %s to %s", took, test.atLeast, test.atMost)
				}
				if test.attempts != 0 && attempts != test.attempts {
					t.Errorf("%d attempts, want %d", attempts, test.attempts)
				}
				if lines != test.lines {
					t.Errorf("%d lines, want %d", lines, test.lines)
				}
			})
		})
	}
}

func TestTheErrorBeforeTheEndIsReturnedRatherThanTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		first := true
		err := Until(ctx, Policy{}, func(ctx context.Context) error {
			if first {
				first = false
				return cause
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, cause) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Until: %v", err)
		}
	})
}

func TestOnRetryReplacesTheLogAndADelayMayBeConstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := funcr.New(func(_, line string) { t.Errorf("logged although OnRetry is set: %s", line) }, funcr.Options{})
		cause := errors.New("cause")
		attempts := 0
		var delays []time.Duration
		err := Until(t.Context(), Policy{
			Log: log, MinDelay: 10 * time.Second, MaxDelay: 10 * time.Second,
			OnRetry: func(err error, delay time.Duration) {
				if !errors.Is(err, cause) {
					t.Errorf("OnRetry gets %v", err)
				}
				delays = append(delays, delay)
			},
		}, func(context.Context) error { attempts++; return unless(attempts > 5, cause) })
		if err != nil || len(delays) != 5 {
			t.Fatalf("%v after delays of %v", err, delays)
		}
		for _, delay := range delays {
			if delay < 10*time.Second || delay > 12*time.Second {
				t.Errorf("a delay of %s", delay)
			}
		}
	})
}

func TestAnAttemptWithoutATimeoutLastsAsLongAsItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		attempts := 0
		err := Until(ctx, Policy{AttemptTimeout: -1}, func(ctx context.Context) error {
			if attempts++; attempts == 1 {
				return errors.New("cause")
			}
			<-ctx.Done()
			return nil
		})
		if err != nil || attempts != 2 || ctx.Err() == nil {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}

func TestALongMinDelayIsNotCutByTheDefaultOfMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, attempts := time.Now(), 0
		err := Until(t.Context(), Policy{MinDelay: time.Minute}, func(context.Context) error {
			attempts++
			return unless(attempts == 3, errors.New("cause"))
		})
		if took := time.Since(began); err != nil || took < 2*time.Minute || took > 144*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestDistinctIsBounded(t *testing.T) {
	var seen Distinct
	if !seen.Add(errors.New("a")) || seen.Add(errors.New("a")) {
		t.Error("a is not new exactly once")
	}
	for i := range 10 * maxDistinct {
		seen.Add(fmt.Errorf("%d", i))
		if len(seen.seen) > maxDistinct {
			t.Fatalf("%d errors remembered", len(seen.seen))
		}
	}
	seen.Reset()
	if !seen.Add(errors.New("a")) {
		t.Error("a is not new after a success")
	}
}

func unless(done bool, err error) error {
	if done {
		return nil
	}
	return err
}
