// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"strconv"
)

// QuietLevel is the verbosity of level error, at which only errors are written.
const QuietLevel = -1

// maxLevel leaves out what client-go logs from 8 on: the bodies of its requests and answers, among
// them the Secret with the webhooks' private key.
const maxLevel = 7

// Verbosity is the level as logr counts: 0 for info, 1 for debug, more for more detail, and
// QuietLevel for errors alone.
func (l Logging) Verbosity() (int, error) {
	switch l.Level {
	case "error":
		return QuietLevel, nil
	case "info", "0":
		return 0, nil
	case "debug":
		return 1, nil
	}
	n, err := strconv.Atoi(l.Level)
	if err != nil || n < 1 || n > maxLevel {
		return 0, fmt.Errorf("must be error, info, debug, or a number from 1 to %d (0 is info): above it, client-go would log Secrets", maxLevel)
	}
	return n, nil
}
