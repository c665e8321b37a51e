// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failures finds out which failed requests are explained by calls that were lost with a replica:
// those that were under way at the moment of a loss, where no loss explains two.
//
// It is pure, and never lenient: a request that no loss can have failed stays unexplained, however many
// losses there were besides.
package failures
