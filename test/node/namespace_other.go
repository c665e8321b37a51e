// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import (
	"context"
	"errors"
	"io"
	"os"
)

// EnterOptions of Enter.
type EnterOptions struct {
	// Root is the checkout.
	Root string
	// Report takes what the inside writes to Report.
	Report io.Writer
}

// Enter needs Linux.
func Enter(context.Context, EnterOptions) (int, error) { return 0, errors.ErrUnsupported }

// Inside is never true here.
func Inside() bool { return false }

// Report is nothing here.
func Report() *os.File { return nil }

// First is never true here.
func First() (code int, first bool, err error) { return 0, false, nil }
