// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"testing"
	"testing/synctest"
	"time"
)

// The histories by which the law of the authority was broken.
func TestHistoriesThatBrokeTheLawOfTheAuthority(t *testing.T) {
	for title, history := range map[string][]lawStep{
		"the root that a disconnected replica serves is in no Secret, and in no other replica's memory": {
			{stepDisconnect, 1, 6 * time.Hour}, {stepDisconnect, 0, 5 * time.Minute}, {stepDelete, 0, time.Second}, {stepCrash, 0, time.Hour},
		},
		"the Secret is destroyed twice while a replica is disconnected": {
			{stepDisconnect, 1, 6 * time.Hour}, {stepDelete, 0, time.Hour}, {stepDisconnect, 0, 5 * time.Minute}, {stepJunk, 0, time.Second}, {stepDelete, 0, time.Second},
			{stepCrash, 0, time.Hour},
		},
		"a replica that starts creates a root, since the key of the previous one is lost": {
			{stepUnlabel, 0, time.Second}, {stepJunk, 0, time.Second}, {stepCrash, 1, time.Second}, {stepRelabel, 0, time.Hour},
		},
		"a replica starts while a root that had to be created is not published everywhere": {
			{stepDelete, 0, time.Second}, {stepCrash, 1, time.Second}, {stepPass, 0, time.Minute},
		},
	} {
		t.Run(title, func(t *testing.T) {
			for seed := range uint64(3) {
				synctest.Test(t, func(t *testing.T) {
					if failure := playLaws(t, []int64{0, -20}, history, seed); failure != "" {
						t.Errorf("order %d of requests: %s", seed, failure)
					}
				})
			}
		})
	}
}
