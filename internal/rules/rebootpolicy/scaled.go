// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Scaled returns a number, or a percentage of whole, rounded down but at least one unless it is 0. An invalid value
// counts as one.
func Scaled(v intstr.IntOrString, whole int) int {
	if v.Type == intstr.Int {
		return max(int(v.IntVal), 0)
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	switch {
	case err != nil || percent < 0:
		return 1
	case percent == 0:
		return 0
	default:
		return max(whole*min(percent, 100)/100, 1)
	}
}
