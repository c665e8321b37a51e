// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

func TestWhenOnePartFailsAllEnd(t *testing.T) {
	broken := errors.New("broken")
	ended := false
	err := RunAll(t.Context(), func(context.Context) error { return broken }, func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return nil
	})
	if !errors.Is(err, broken) || !ended {
		t.Errorf("got %v, the other has ended: %t", err, ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := RunAll(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
		t.Errorf("a stop that was asked for: %v", err)
	}
}

func TestAPanicInOnePartIsItsErrorAndEndsTheOthers(t *testing.T) {
	err := RunAll(t.Context(), func(context.Context) error { panic("a defect") }, func(ctx context.Context) error { //nolint:forbidigo // what it tests
		<-ctx.Done()
		return nil
	})
	if _, ok := errors.AsType[*panics.Error](err); !ok {
		t.Errorf("got %v", err)
	}
}
