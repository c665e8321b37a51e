// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A folder that the Dockerfile forgets breaks the image and nothing else: no one notices before a
// release does.
func TestTheDockerfileCopiesEveryFolderThatTheBinaryIsBuiltFrom(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`, "./cmd/fairlead")
	list.Dir = root
	packages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	copied, ignored := copies(t, filepath.Join(root, "Dockerfile")), exceptions(t, filepath.Join(root, ".dockerignore"))
	seen := 0
	for folder := range strings.FieldsSeq(string(packages)) {
		inside, err := filepath.Rel(root, folder)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		within := func(parent string) bool { return strings.HasPrefix(inside+"/", parent) }
		if !slices.ContainsFunc(copied, within) {
			t.Errorf("the Dockerfile copies no folder with %s", inside)
		}
		if !slices.ContainsFunc(ignored, within) {
			t.Errorf(".dockerignore keeps %s from the builder", inside)
		}
	}
	if seen < 10 {
		t.Errorf("the binary is built from %d packages of ours only: %s", seen, packages)
	}
}

// copies are the folders that the build stage takes from the checkout.
func copies(t *testing.T, dockerfile string) []string {
	t.Helper()
	content, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, line := range instructions(string(content)) {
		if fields := strings.Fields(line); fields[0] == "COPY" && len(fields) == 3 && !strings.HasPrefix(fields[1], "--") {
			folders = append(folders, fields[1])
		}
	}
	return folders
}

// exceptions returns the paths that .dockerignore lets through.
func exceptions(t *testing.T, dockerignore string) []string {
	t.Helper()
	content, err := os.ReadFile(dockerignore)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for line := range strings.Lines(string(content)) {
		if folder, excepted := strings.CutPrefix(strings.TrimSpace(line), "!"); excepted {
			folders = append(folders, folder)
		}
	}
	return folders
}
