// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxClaim is the upper bound of each duration for which an object keeps other objects from disrupting its workloads.
const MaxClaim = 24 * time.Hour

// maxClaimText is MaxClaim as the schema writes it.
const maxClaimText = common.Duration("24h")

// ClampClaim lowers a duration above MaxClaim to MaxClaim, and returns a message for a condition or a warning. It
// returns nil for a shorter duration. Objects that were stored before the bound existed may exceed it.
func ClampClaim(path Path, d **common.Duration) []string {
	if *d == nil || (*d).Or(0) <= MaxClaim {
		return nil
	}
	bound := maxClaimText
	text := path.Field().String() + ": " + string(**d) + " counts as " + string(bound) + ", which is the most that may be written"
	*d = &bound
	return []string{text}
}
