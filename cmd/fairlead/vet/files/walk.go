// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the argument for the standard input, and StdinName its name in findings.
const (
	Stdin     = "-"
	StdinName = "stdin"
)

// The default bounds.
const (
	DefaultMaxFiles = 10_000
	DefaultMaxBytes = 16 << 20
	DefaultMaxDepth = 32
)

// Options of a walk.
type Options struct {
	// Stdin is the source of input for the file name "-". Defaults to nothing.
	Stdin io.Reader
	// MaxFiles bounds how many files are visited. Defaults to DefaultMaxFiles.
	MaxFiles int
	// MaxBytes bounds the size of a regular file. Defaults to DefaultMaxBytes.
	MaxBytes int64
	// MaxDepth bounds how deep folders nest. Defaults to DefaultMaxDepth.
	MaxDepth int
	// Shallow leaves out the folders below those that are named. Defaults to false: they are read.
	Shallow bool
	// Exclude are patterns of files that are not read, as path.Match has them; ** is any number of
	// folders, and a pattern without a slash is compared with each part of a name. Defaults to none.
	Exclude []string
	// Skipped is called for each file that is not read because it is excluded, a patch of a kustomization
	// or a template of a chart. Defaults to nil.
	Skipped func(name string)
}

// Visit is given each file in turn, under the name by which a person would find it again.
type Visit func(name string, content io.Reader) error

// ErrStop ends a walk when a Visit returns it.
var ErrStop = errors.New("stop")

// maxReported bounds the errors of a walk.
const maxReported = 20

type walk struct {
	options Options
	visit   Visit
	seen    map[string]bool // folders, by their real path
	visited int
	skipped int
	stdin   bool
	skip    skipper
	errs    []error
}

// Walk visits what the arguments name, in their order and within a folder by name. A file named by
// an argument is read whatever it is called; in folders *.yaml, *.yml and *.json are, and what is
// hidden is skipped. After a file that cannot be read the walk continues, and returns the error at the end.
func Walk(arguments []string, o Options, visit Visit) error {
	w := &walk{options: o, visit: visit, seen: map[string]bool{}, skip: skipper{excluded: o.Exclude}}
	for _, pattern := range o.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("exclude %q: %w", pattern, err)
		}
	}
	if w.options.Skipped == nil {
		w.options.Skipped = func(string) {}
	}
	if w.options.Stdin == nil {
		w.options.Stdin = strings.NewReader("")
	}
	if w.options.MaxFiles <= 0 {
		w.options.MaxFiles = DefaultMaxFiles
	}
	if w.options.MaxBytes <= 0 {
		w.options.MaxBytes = DefaultMaxBytes
	}
	if w.options.MaxDepth <= 0 {
		w.options.MaxDepth = DefaultMaxDepth
	}
	for _, argument := range arguments {
		if err := w.argument(argument); err != nil {
			if errors.Is(err, ErrStop) {
				break
			}
			w.fail(err)
		}
	}
	if hidden := len(w.errs) - maxReported; hidden > 0 {
		w.errs = append(w.errs[:maxReported], fmt.Errorf("and %d more errors", hidden))
	}
	return errors.Join(w.errs...)
}

func (w *walk) fail(err error) { w.errs = append(w.errs, err) }

func (w *walk) argument(name string) error {
	if name == Stdin {
		if w.stdin {
			return nil
		}
		w.stdin = true
		return w.visitFile(StdinName, w.options.Stdin)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return w.file(name, info)
	}
	before := w.visited + w.skipped
	if err := w.folder(name, 0); err != nil {
		return err
	}
	if w.visited+w.skipped == before && len(w.errs) == 0 {
		return fmt.Errorf("%s: there is no *.yaml, *.yml or *.json in this folder", name)
	}
	return nil
}

// folder visits what is in a folder.
func (w *walk) folder(name string, depth int) error {
	if depth > w.options.MaxDepth {
		return fmt.Errorf("%s: folders nest deeper than %d; name a folder further down", name, w.options.MaxDepth)
	}
	target, err := filepath.EvalSymlinks(name)
	if err == nil {
		target, err = filepath.Abs(target)
	}
	if err != nil {
		return err
	}
	if w.seen[target] {
		return nil
	}
	w.seen[target] = true
	entries, err := os.ReadDir(name) // sorted by name
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := w.entry(filepath.Join(name, entry.Name()), entry, depth); err != nil {
			if errors.Is(err, ErrStop) {
				return err
			}
			w.fail(err)
		}
	}
	return nil
}

func (w *walk) entry(name string, entry fs.DirEntry, depth int) error {
	if strings.HasPrefix(entry.Name(), ".") {
		return nil
	}
	manifest := slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
	linked := entry.Type()&fs.ModeSymlink != 0
	if !manifest && !entry.IsDir() && !linked {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil && linked && !manifest:
		return nil // a broken link to something else
	case err != nil:
		return err
	case info.IsDir() && w.options.Shallow:
		return nil
	case info.IsDir():
		return w.folder(name, depth+1)
	case manifest && info.Mode().IsRegular():
		return w.file(name, info)
	}
	return nil
}

func (w *walk) file(name string, info fs.FileInfo) error {
	if w.skip.skip(name) {
		w.skipped++
		w.options.Skipped(name)
		return nil
	}
	if info.Mode().IsRegular() && info.Size() > w.options.MaxBytes {
		return fmt.Errorf("%s: has %d bytes, and at most %d are read; split it", name, info.Size(), w.options.MaxBytes)
	}
	file, err := os.Open(name) //nolint:gosec // reading what the user names is the purpose
	if err != nil {
		return err
	}
	return errors.Join(w.visitFile(name, file), file.Close())
}

func (w *walk) visitFile(name string, content io.Reader) error {
	if w.visited >= w.options.MaxFiles {
		w.fail(fmt.Errorf("%s: not read, nor any file after it: there are more than %d; name fewer", name, w.options.MaxFiles))
		return ErrStop
	}
	w.visited++
	if err := w.visit(name, content); err != nil {
		if errors.Is(err, ErrStop) {
			return err
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
