// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/api/common"
)

// The error of each value of a selector has its key: together they must not be the product of both.
func TestASelectorOfLongKeysAndManyValuesHasShortErrors(t *testing.T) {
	values := make([]common.LabelValue, 1000)
	for i := range values {
		values[i] = "-"
	}
	for name, s := range map[string]*common.LabelSelector{
		"many values":      {MatchExpressions: []common.LabelRequirement{{Key: "a", Operator: "In", Values: values}}},
		"a long key":       {MatchExpressions: []common.LabelRequirement{{Key: strings.Repeat("a", 1e6), Operator: "In", Values: values[:MaxItems]}}},
		"many expressions": {MatchExpressions: make([]common.LabelRequirement, math.MaxInt16)},
	} {
		if errs := Selector(At("s"), s); len(errs) == 0 || len(errs.ToAggregate().Error()) > 1000 {
			t.Errorf("%s: %d errors", name, len(errs))
		}
	}
}
