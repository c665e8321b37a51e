// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWalkEndsAtTheFirstErrorAndNamesTheStep(t *testing.T) {
	broken, said := errors.New("broken"), ""
	err := Walk(t.Context(), time.Minute, func(format string, args ...any) { said += fmt.Sprintf(format, args...) },
		Step{"rest", func(context.Context) error { return nil }},
		Step{"run", func(context.Context) error { return broken }},
		Step{"fly", func(context.Context) error { t.Error("it went on"); return nil }},
	)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "run: ") || !strings.HasPrefix(said, "rest: ") || strings.Contains(said, "run") {
		t.Errorf("%v; it said %q", err, said)
	}
}

func TestAWalkThatTakesTooLongSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Walk(t.Context(), time.Minute, func(string, ...any) {}, Step{"wait", func(ctx context.Context) error {
			var none *Subject
			return none.Until(ctx, time.Second, func() (bool, error) { return false, nil })
		}})
		if err == nil || !strings.Contains(err.Error(), "wait: not done after 1m0s: measure fewer objects") {
			t.Error(err)
		}
	})
}
