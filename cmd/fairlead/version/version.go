// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version holds what this binary was built from. Nothing in it changes at run time.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// These are set by the linker:
//
//	-X github.com/fairlead-dev/fairlead/cmd/fairlead/version.Version=v1.2.3
//
// What is not set is taken from what Go recorded. Go records no commit in an image build, which has no
// repository, nor in a worktree of Git.
var (
	// Version is the tag of a release, or what describes a commit after it.
	Version string
	// Commit is the hash of the commit.
	Commit string
	// Date is when the commit was made, in RFC 3339.
	Date string
)

// Info describes the build.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Modified bool   `json:"modified"`       // built from files that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Get returns what is known of the build.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return from(Info{Version: Version, Commit: Commit, Date: Date}, build)
}

func from(linked Info, build *debug.BuildInfo) Info {
	info := linked
	info.Go, info.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	if build != nil {
		info.Version = cmp.Or(linked.Version, build.Main.Version)
		for _, setting := range build.Settings {
			switch setting.Key {
			case "vcs.revision":
				info.Commit = cmp.Or(linked.Commit, setting.Value)
			case "vcs.time":
				info.Date = cmp.Or(linked.Date, setting.Value)
			case "vcs.modified":
				info.Modified = setting.Value == "true"
			}
		}
	}
	info.Version = cmp.Or(info.Version, "unknown")
	return info
}

// String is one line.
func (i Info) String() string {
	line := "fairlead " + i.Version
	if i.Commit != "" {
		line += " " + i.Commit
	}
	if i.Modified {
		line += " (modified)"
	}
	return fmt.Sprintf("%s, %s, %s", line, i.Go, i.Platform)
}
