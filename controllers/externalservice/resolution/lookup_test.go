// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Those who wait for a lookup that panics must not wait for ever.
func TestAPanicInALookupIsTheResultOfAllWhoWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		f := &singleflight{calls: map[query]*call{}, now: time.Now, lookup: func(context.Context, query) dns.Answer {
			looks++
			<-time.After(time.Second)
			panic("a defect") //nolint:forbidigo // what it tests
		}}
		answers := make(chan dns.Answer, 2)
		for range 2 {
			go func() {
				answer, _ := f.do(t.Context(), query{})
				answers <- answer
			}()
		}
		for range 2 {
			answer := <-answers
			if _, ok := errors.AsType[*panics.Error](answer.Err); !ok || answer.Outcome() != dns.ServFail {
				t.Errorf("%+v", answer)
			}
		}
		if looks != 1 {
			t.Errorf("%d lookups", looks)
		}
	})
}
