// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of one run.
const (
	// MaxFiles bounds how many files are read.
	MaxFiles = 10_000
	// MaxFileBytes bounds each file, in bytes.
	MaxFileBytes = 16 << 20
	// MaxBytes bounds all files together, in bytes.
	MaxBytes = 512 << 20
)

// Stdin is the name of the standard input among paths.
const Stdin = "-"

var extensions = []string{".yaml", ".yml", ".json"}

// find returns the files that paths name, each once: folders with all below them, except hidden ones.
func find(ctx context.Context, paths []string) (files []string, err error) {
	seen := map[string]bool{}
	add := func(path string) error {
		if path = filepath.Clean(path); seen[path] {
			return nil
		}
		if len(files) == MaxFiles {
			return fmt.Errorf("more than %d files; convert the folders one by one", MaxFiles)
		}
		seen[path] = true
		files = append(files, path)
		return nil
	}
	for _, path := range paths {
		info := fs.FileInfo(nil)
		if path != Stdin {
			if info, err = os.Stat(path); err != nil {
				return nil, err
			}
		}
		if info != nil && info.IsDir() {
			err = walk(ctx, path, add)
		} else {
			err = add(path)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// walk calls add with each manifest in a folder and in those below it.
func walk(ctx context.Context, folder string, add func(path string) error) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch hidden := path != folder && strings.HasPrefix(filepath.Base(path), "."); {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && hidden:
			return fs.SkipDir
		case d.IsDir() || hidden || !slices.Contains(extensions, strings.ToLower(filepath.Ext(path))):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				return nil //nolint:nilerr // a link to nothing, or to a folder, is no manifest
			}
		case !d.Type().IsRegular():
			return nil
		}
		return add(path)
	})
}

// load reads a file, or the standard input.
func load(path string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if path != Stdin {
		file, err := os.Open(path) //nolint:gosec // the user who starts the process names the file
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, MaxFileBytes+1))
	if err == nil && len(text) > MaxFileBytes {
		err = fmt.Errorf("larger than %d bytes", MaxFileBytes)
	}
	return text, err
}

// replace puts a text in the place of a file at once: a reader of the file sees the old text or the
// new one, also where the machine stops in between.
func replace(path string, was, text []byte) (err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file, and so not written to")
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if string(now) != string(was) {
		return errors.New("it was changed by another process in the meantime, and was left alone")
	}
	next, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = next.Close()
			_ = os.Remove(next.Name())
		}
	}()
	if _, err = next.Write(text); err != nil {
		return err
	}
	if err = next.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if err = next.Sync(); err != nil {
		return err
	}
	if err = next.Close(); err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}
