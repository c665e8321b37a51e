// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import "errors"

// ErrBundleMissing marks what was read back and does not carry all of a CA bundle. An error without
// it, about whether a bundle has arrived, says only that the targets could not be read.
var ErrBundleMissing = errors.New("does not carry all of the CA bundle")
