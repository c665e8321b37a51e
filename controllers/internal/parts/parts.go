// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Together runs parts that make no sense without each other: when one has ended, all are told to. It
// returns when the last has ended, with the errors of all.
func Together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, run := range parts {
		go func() { ended <- run(ctx) }()
	}
	var errs []error
	for range parts {
		errs = append(errs, <-ended)
		cancel()
	}
	return errors.Join(errs...)
}

// Warmup starts the watches of a controller that was made with EnableWarmup, and returns when they
// have synced. Nothing is reconciled before it is started.
func Warmup(ctx context.Context, name string, c controller.Controller) error {
	warmer, ok := c.(interface{ Warmup(context.Context) error })
	if !ok {
		return fmt.Errorf("controller %s: a %T cannot be warmed up", name, c)
	}
	return warmer.Warmup(ctx)
}
