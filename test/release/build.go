// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const module = "github.com/fairlead-dev/fairlead"

// Source is the commit that a release is made from.
type Source struct {
	// Root is the checkout.
	Root string
	// Version is the release's, such as v0.1.0.
	Version string
	// Commit is the full hash, and Date its time.
	Commit string
	Date   time.Time
}

// Checkout reads which commit a checkout is at. A file that is not committed is an error, since the release
// could not be made from the commit again; so is a tag of the version at another commit.
func Checkout(ctx context.Context, root, version string) (*Source, error) {
	changed, err := run(ctx, root, nil, "git", "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	if changed != "" {
		return nil, fmt.Errorf("files are not committed; commit or remove them, a release names the commit that it is made from:\n%s", changed)
	}
	said, err := run(ctx, root, nil, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return nil, err
	}
	commit, at, _ := strings.Cut(said, " ")
	tagged, err := run(ctx, root, nil, "git", "for-each-ref", "--format=%(objectname) %(*objectname)", "refs/tags/"+version)
	if err != nil {
		return nil, err
	}
	if tagged != "" && !strings.Contains(tagged, commit) { // of an annotated tag the second is the commit
		return nil, fmt.Errorf("the tag %s is not at the commit that is checked out, %s; check out the tag", version, commit)
	}
	date, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return nil, fmt.Errorf("the time of %s: %w", commit, err)
	}
	return &Source{Root: root, Version: version, Commit: commit, Date: date.UTC()}, nil
}

// Platform is an operating system and an architecture, as Go names them.
type Platform struct{ OS, Architecture string }

// Platforms are those that there is a program for.
func Platforms() []Platform {
	var all []Platform
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, architecture := range []string{"amd64", "arm64"} {
			all = append(all, Platform{system, architecture})
		}
	}
	return all
}

// ParsePlatforms returns the platforms of these names, such as linux-amd64.
func ParsePlatforms(names []string) ([]Platform, error) {
	var all []Platform
	for _, name := range names {
		i := slices.IndexFunc(Platforms(), func(p Platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("platform %q: there are %v", name, Platforms())
		}
		all = append(all, Platforms()[i])
	}
	return all, nil
}

// String is linux-amd64, for example.
func (p Platform) String() string { return p.OS + "-" + p.Architecture }

// Build compiles the program to a file. Nothing of the machine gets into it: no path, no library, and no state
// of the checkout but what Source holds.
func (s *Source) Build(ctx context.Context, p Platform, file string) error {
	variable := func(name, value string) string {
		return " -X " + module + "/cmd/fairlead/version." + name + "=" + value
	}
	link := "-s -w" + variable("Version", s.Version) + variable("Commit", s.Commit) + variable("Date", s.Date.Format(time.RFC3339))
	_, err := run(ctx, s.Root, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS=" + p.OS, "GOARCH=" + p.Architecture},
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", file, "./cmd/fairlead")
	if err != nil {
		return fmt.Errorf("build for %s: %w", p, err)
	}
	return nil
}

// run returns what a program prints, without space at its ends.
func run(ctx context.Context, folder string, environment []string, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	var out, failed bytes.Buffer
	command.Stdout, command.Stderr = &out, &failed
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, arguments[0], errors.Join(err, ctx.Err()), bytes.TrimSpace(failed.Bytes()))
	}
	return string(bytes.TrimSpace(out.Bytes())), nil
}
