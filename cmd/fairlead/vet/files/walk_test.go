// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a new folder, and goes there.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func visited(t *testing.T, o Options, arguments ...string) ([]string, error) {
	t.Helper()
	var names []string
	err := Walk(arguments, o, func(name string, content io.Reader) error {
		if _, err := io.ReadAll(content); err != nil {
			t.Error(err)
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

func TestManifestsAreVisitedByNameAndWhatIsHiddenIsNot(t *testing.T) {
	tree(t, "b.yaml", "a.yml", "sub/deep/c.json", "sub/d.YAML", "notes.txt", ".hidden.yaml", ".git/x.yaml", "z.yaml")
	names, err := visited(t, Options{Stdin: strings.NewReader("x")}, "sub", "-", ".", "notes.txt", "-")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"sub/d.YAML", "sub/deep/c.json", "stdin", "a.yml", "b.yaml", "z.yaml", "notes.txt"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestSymbolicLinksAreFollowedOnceAndLoopsEnd(t *testing.T) {
	tree(t, "a/x.yaml", "b/y.yaml")
	link(t, "..", "a/up")
	link(t, "../b", "a/side")
	link(t, "x.yaml", "a/z.yaml")
	link(t, "nowhere", "a/other")
	link(t, "self", "a/self")
	names, err := visited(t, Options{}, "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/side/y.yaml", "a/x.yaml", "a/z.yaml"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeReadIsNamedAndTheRestIsVisited(t *testing.T) {
	tree(t, "a.yaml", "b/c.yaml", "large.yaml", "d/e/f/g.yaml")
	if err := os.Mkdir("empty", 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("large.yaml", make([]byte, 101), 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "nowhere", "b/broken.yaml")
	names, err := visited(t, Options{MaxBytes: 100, MaxDepth: 1}, "missing.yaml", "large.yaml", "empty", "b", "d", "a.yaml")
	if diff := cmp.Diff([]string{"b/c.yaml", "a.yaml"}, names); diff != "" {
		t.Error(diff)
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"missing.yaml: no such file", "large.yaml: has 101 bytes", "b/broken.yaml", "d/e/f: folders nest deeper than 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if _, err := visited(t, Options{}, "empty"); err == nil || !strings.Contains(err.Error(), "empty: there is no *.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestTheNumberOfFilesAndOfErrorsIsBounded(t *testing.T) {
	var many []string
	for i := range 50 {
		many = append(many, strconv.Itoa(100+i)+".yaml")
	}
	tree(t, many...)
	names, err := visited(t, Options{MaxFiles: 3}, ".")
	if len(names) != 3 || err == nil || !strings.Contains(err.Error(), "103.yaml: not read, nor any file after it: there are more than 3") {
		t.Errorf("%v, %v", names, err)
	}
	err = Walk(many, Options{}, func(string, io.Reader) error { return errors.New("bad") })
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxReported+1 || lines[maxReported] != "and 30 more errors" {
		t.Errorf("got %v", lines)
	}
}

func TestAVisitEndsTheWalk(t *testing.T) {
	tree(t, "a.yaml", "b.yaml", "c.yaml")
	count := 0
	if err := Walk([]string{".", "c.yaml"}, Options{}, func(string, io.Reader) error {
		count++
		return ErrStop
	}); err != nil || count != 1 {
		t.Errorf("%d visits, %v", count, err)
	}
}
