// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/chart/registry"
)

// What `make push` pushes has the same digest each time, and the image of the release.
func TestAPublishedChartIsPulledAndRendered(t *testing.T) {
	image := func(letter string) string {
		return "registry.example.com/fairlead@sha256:" + strings.Repeat(letter, 64)
	}
	var archive string
	var digests [2]string
	for n := range digests {
		var err error
		if archive, err = pack(released(t, "v1.2.3-rc.1", "a"), t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if digests[n], err = registry.Publish(archive, image("a")); err != nil {
			t.Fatal(err)
		}
	}
	if digests[0] != digests[1] || !strings.HasPrefix(digests[0], "sha256:") {
		t.Errorf("digests %q of the same release", digests)
	}
	if _, err := registry.Publish(archive, image("b")); err == nil || !strings.Contains(err.Error(), image("a")+", want "+image("b")) {
		t.Errorf("an image of another release: %v", err)
	}
}
