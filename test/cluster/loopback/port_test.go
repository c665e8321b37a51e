// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import "testing"

func TestAPortIsGivenAwayOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 1000 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("%d was given away twice", port)
		}
		seen[port] = true
	}
}
