// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"strings"
	"testing"
)

func TestAnOperatorThatIsNoneIsRefusedBeforeAnythingStarts(t *testing.T) {
	_, err := Open(t.Context(), Options{Root: t.TempDir(), Operator: "inside"})
	if err == nil || !strings.Contains(err.Error(), `operator "inside"`) || !strings.Contains(err.Error(), `"outside"`) {
		t.Errorf("error: %v", err)
	}
}
