// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fresh = "apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPod\n"

// lay writes files into a new folder, which is the working directory from then on.
func lay(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func runChaosPods(t *testing.T, r Request) (stdout, messages string, err error) {
	t.Helper()
	var out, said bytes.Buffer
	r.Out, r.Messages = &out, &said
	err = newConversion(t, Options{To: "v1"}).Run(context.Background(), r)
	return out.String(), said.String(), err
}

func TestWriteReplacesOnlyWhatChanges(t *testing.T) {
	lay(t, map[string]string{
		"a/old.yaml": old, "a/b/old.yml": old, "a/old.json": `{"apiVersion":"chaos.fairlead.dev/v1alpha1","kind":"ChaosPod"}`,
		"a/fresh.yaml": fresh, "a/other.txt": old, "a/.hidden.yaml": old, "a/.git/x.yaml": old, "named.txt": old, "target.yaml": old,
	})
	if err := os.Symlink("../target.yaml", "a/link.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", "a/dangling.yaml"); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat("a/fresh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, said, err := runChaosPods(t, Request{Paths: []string{"a", "./named.txt", "a/old.yaml"}, Write: true})
	if err != nil || said != "" {
		t.Fatal(err, said)
	}
	want := "a/b/old.yml\na/link.yaml\na/old.json\na/old.yaml\nnamed.txt\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"a/old.yaml": fresh, "a/b/old.yml": fresh, "a/old.json": `{"apiVersion":"chaos.fairlead.dev/v1","kind":"ChaosPod"}`, "target.yaml": fresh,
		"a/other.txt": old, "a/.hidden.yaml": old, "a/.git/x.yaml": old, "named.txt": fresh,
	} {
		if got := content(t, name); got != want {
			t.Errorf("%s holds\n%s", name, got)
		}
	}
	if info, err := os.Stat("a/old.yaml"); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	if info, err := os.Lstat("a/link.yaml"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%v: the link is gone", err)
	}
	if after, err := os.Stat("a/fresh.yaml"); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("%v: a file that need not change was written", err)
	}
	if left, err := filepath.Glob("a/.old*"); err != nil || len(left) > 0 {
		t.Errorf("%v: left behind %v", err, left)
	}
}

func TestAFailureSparesItsFileAlone(t *testing.T) {
	lay(t, map[string]string{"bad.yaml": old + "---\n" + old + "spec: {nextStop: x, schedule: 5}\n", "good.yaml": old, "broken.yaml": "chaos.fairlead.dev: [\n"})
	out, said, err := runChaosPods(t, Request{Paths: []string{"bad.yaml", "good.yaml"}, Write: true})
	if !errors.Is(err, ErrFound) || out != "good.yaml\n" || !strings.Contains(said, "bad.yaml:4:1: error: ChaosPod without a name: spec.schedule: must be an object") {
		t.Errorf("%v, %q, %q", err, out, said)
	}
	if content(t, "bad.yaml") != old+"---\n"+old+"spec: {nextStop: x, schedule: 5}\n" || content(t, "good.yaml") != fresh {
		t.Error("the wrong file was written")
	}
	out, _, err = runChaosPods(t, Request{Paths: []string{"bad.yaml", "good.yaml"}})
	if !errors.Is(err, ErrFound) || out != "" {
		t.Errorf("%v, and half a stream: %q", err, out)
	}
	out, said, err = runChaosPods(t, Request{Paths: []string{"broken.yaml", "good.yaml"}})
	if !errors.Is(err, ErrInput) || out != "" || !strings.Contains(said, "broken.yaml:1:1: error: not YAML: ") {
		t.Errorf("%v, %q, %q", err, out, said)
	}
}

func TestCheckListsAndWritesNothing(t *testing.T) {
	lay(t, map[string]string{"a.yaml": fresh + "---\n" + old + "metadata: {name: a}\n", "b.yaml": fresh})
	out, _, err := runChaosPods(t, Request{Paths: []string{"."}, Check: true})
	if want := "a.yaml:4:1: ChaosPod a: is at v1alpha1, not at v1\n"; !errors.Is(err, ErrFound) || out != want {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
	if !strings.HasSuffix(content(t, "a.yaml"), old+"metadata: {name: a}\n") {
		t.Error("it wrote")
	}
	if out, _, err := runChaosPods(t, Request{Paths: []string{"b.yaml"}, Check: true}); err != nil || out != "" {
		t.Errorf("%v, %q", err, out)
	}
}

func TestSeveralTextsAreOneStream(t *testing.T) {
	object := `{"apiVersion":"chaos.fairlead.dev/v1","kind":"ChaosPod"}`
	lay(t, map[string]string{"a.yaml": strings.TrimSpace(fresh), "b.yaml": "---\n" + fresh, "a.json": object, "b.json": object})
	stdin := strings.NewReader("# none\n")
	for want, paths := range map[string][]string{
		strings.TrimSpace(fresh) + "\n---\n" + fresh:               {"a.yaml", "b.yaml"},
		object + "\n" + object:                                     {"a.json", "b.json"},
		object + "\n---\n# none\n---\n" + strings.TrimSpace(fresh): {"a.json", Stdin, "a.yaml"},
	} {
		out, _, err := runChaosPods(t, Request{Paths: paths, Stdin: stdin})
		if diff := cmp.Diff(want, out); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", paths, err, diff)
		}
	}
}

func TestReplaceLeavesWhatWasChangedMeanwhile(t *testing.T) {
	lay(t, map[string]string{"a.yaml": "new"})
	if err := replace("a.yaml", []byte("old"), []byte("x")); err == nil || content(t, "a.yaml") != "new" {
		t.Errorf("%v, %q", err, content(t, "a.yaml"))
	}
}

func TestInputIsBounded(t *testing.T) {
	lay(t, map[string]string{"large.yaml": strings.Repeat("#", MaxFileBytes+1)})
	if _, said, err := runChaosPods(t, Request{Paths: []string{"large.yaml"}}); !errors.Is(err, ErrInput) || !strings.Contains(said, "larger than") {
		t.Errorf("%v, %q", err, said)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := find(ctx, []string{"."}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled walk ended with %v", err)
	}
}
