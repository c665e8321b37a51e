// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parts starts and ends what a controller is made of. It knows nothing of what the parts do.
package parts
