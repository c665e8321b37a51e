// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestSharesAreRoundedDownButNotToNothing(t *testing.T) {
	for _, c := range []struct {
		of          intstr.IntOrString
		whole, want int
	}{
		{intstr.FromInt32(3), 1, 3}, {intstr.FromInt32(0), 9, 0}, {intstr.FromInt32(-1), 9, 0},
		{intstr.FromString("50%"), 5, 2}, {intstr.FromString("10%"), 5, 1}, {intstr.FromString("0%"), 5, 0},
		{intstr.FromString("100%"), 7, 7}, {intstr.FromString("50%"), 0, 1}, {intstr.FromString("many"), 7, 1},
	} {
		if got := Scaled(c.of, c.whole); got != c.want {
			t.Errorf("%s of %d is %d, want %d", c.of.String(), c.whole, got, c.want)
		}
	}
}
