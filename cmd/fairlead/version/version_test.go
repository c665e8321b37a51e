// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestWhatIsLinkedGoesBeforeWhatIsRecorded(t *testing.T) {
	build := &debug.BuildInfo{Main: debug.Module{Version: "v0.9.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	rest := ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	for want, got := range map[string]Info{
		"fairlead v1.2.3 abc (modified)": from(Info{Version: "v1.2.3"}, build),
		"fairlead v0.9.0 abc (modified)": from(Info{}, build),
		"fairlead v1.2.3 def (modified)": from(Info{Version: "v1.2.3", Commit: "def"}, build),
		"fairlead v1.2.3 def":            from(Info{Version: "v1.2.3", Commit: "def"}, nil),
		"fairlead v1.2.3":                from(Info{Version: "v1.2.3"}, nil),
		"fairlead unknown":               from(Info{}, nil),
	} {
		if got.String() != want+rest {
			t.Errorf("%q, want %q", got, want+rest)
		}
	}
}
