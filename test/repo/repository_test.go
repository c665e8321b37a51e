// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFile bounds a file of the repository, in bytes. The largest is a generated CRD.
const maxFile = 1 << 20

// repository returns the folder of the root module, above that of the tests.
func repository(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	for err == nil {
		module, _ := os.ReadFile(filepath.Join(folder, "go.mod"))
		if bytes.HasPrefix(module, []byte("module github.com/fairlead-dev/fairlead\n")) {
			return folder
		}
		if folder == filepath.Dir(folder) {
			break
		}
		folder = filepath.Dir(folder)
	}
	t.Fatalf("no go.mod of the root module above the working directory: %v", err)
	return ""
}

// files are the texts with one of these extensions in folders of the repository, by their paths from its root.
func files(t *testing.T, folders []string, extensions ...string) map[string]string {
	t.Helper()
	root, found := os.DirFS(repository(t)), map[string]string{}
	for _, folder := range folders {
		err := fs.WalkDir(root, folder, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, file):
				return fs.SkipDir
			case entry.IsDir() || !slices.Contains(extensions, path.Ext(file)):
				return nil
			}
			content, err := fs.ReadFile(root, file)
			found[file] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// A program that was built where its source is would be committed with it, and stay in the history.
func TestNoFileIsAProgram(t *testing.T) {
	read := 0
	root := os.DirFS(repository(t))
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, file):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if read++; info.Size() > maxFile {
			t.Errorf("%s has %d bytes, more than %d: build programs into bin", file, info.Size(), maxFile)
		}
		return nil
	})
	if err != nil || read < 1000 {
		t.Fatalf("read %d files: %v", read, err)
	}
}

// Where an option comes from is to be seen where it is used, and none may be changed from outside after New.
func TestNoTypeEmbedsItsOptions(t *testing.T) {
	embedded := regexp.MustCompile(`(?m)^\t+\*?(\w+\.)?\w*Options(\[\w+\])?( //.*)?$`)
	if found := embedded.FindAllString("type A struct {\n\tOptions\n\tprobe.Options // of\n\toptions Options\n}", -1); len(found) != 2 {
		t.Fatalf("found %q: the search is broken", found)
	}
	for file, text := range code(t) {
		for _, line := range embedded.FindAllString(text, -1) {
			t.Errorf("%s embeds %s: name the field", file, strings.TrimSpace(line))
		}
	}
}

// A reader finds the way by the files that the documentation of a package lists.
func TestTheDocumentationOfPackagesNamesFilesThatExist(t *testing.T) {
	root, all, named := os.DirFS(repository(t)), code(t), 0
	for file, text := range all {
		if path.Base(file) != "doc.go" {
			continue
		}
		for _, name := range sourceFile.FindAllString(text, -1) {
			if named++; !isNear(root, path.Dir(file), text, name) {
				t.Errorf("%s names %s, which is neither in its folder, nor one below, nor in a folder that it names", file, name)
			}
		}
	}
	if named < 200 {
		t.Fatalf("found %d names: the search is broken", named)
	}
	const text = "webhooks/internal/review, body.go"
	if !isNear(root, "webhooks/admission", text, "body.go") || isNear(root, "webhooks/admission", "", "body.go") {
		t.Error("what is near does not depend on the folders that are named: the search is broken")
	}
}

var sourceFile, folderName = regexp.MustCompile(`[\w/]+\.go\b`), regexp.MustCompile(`\w+(/\w+)+`)

// isNear reports whether a file is in a folder, in one below, or in one whose path from the root is in text.
func isNear(root fs.FS, folder, text, file string) bool {
	for _, pattern := range append(folderName.FindAllString(text, -1), ".", folder, folder+"/*") {
		if found, err := fs.Glob(root, path.Join(pattern, file)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// code has the files of Go that the operator is built from.
func code(t *testing.T) map[string]string {
	t.Helper()
	found := files(t, []string{"certs", "cmd", "controllers", "internal", "webhooks"}, ".go")
	for file := range found {
		if strings.HasSuffix(file, "_test.go") {
			delete(found, file)
		}
	}
	if len(found) < 300 {
		t.Fatalf("read %d files: the search is broken", len(found))
	}
	return found
}

// pages are the Markdown files.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := files(t, []string{"."}, ".md")
	if len(found) < 60 || found["README.md"] == "" {
		t.Fatalf("read %d pages: the search is broken", len(found))
	}
	return found
}

// read returns the text of one file.
func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
