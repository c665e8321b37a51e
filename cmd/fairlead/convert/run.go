// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

// ErrInput is an input that cannot be read, or a request that asks for two things at once.
var ErrInput = errors.New("input")

// Request is one run over files.
type Request struct {
	// Paths are files, folders, and Stdin; at least one.
	Paths []string
	// Stdin is the source of input for the file name Stdin.
	Stdin io.Reader
	// Out takes the converted text, or with Check what is not at the version. Messages takes notes
	// and failures, one to a line.
	Out, Messages io.Writer
	// Write replaces the files instead of writing to Out. Check writes nothing but names.
	Write, Check bool
	// AllowEmpty takes an empty standard input, and inputs that hold no document together, for success. Defaults to
	// ErrInput, since the command in front of a pipe may have failed.
	AllowEmpty bool
}

// ErrFound means that objects could not be converted, or that Check found some at another version.
var ErrFound = errors.New("found")

// Run converts files. An error is ErrFound or ErrInput; what was wrong with each object is written
// to Messages. Without Write, one failure is enough for Out to get nothing at all; with it,
// files without failures are written all the same.
func (c *Conversion) Run(ctx context.Context, r Request) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("%w%w", silentError{ErrInput}, err)
	}
	files, err := find(ctx, r.Paths)
	if err != nil {
		return fmt.Errorf("%w%w", silentError{ErrInput}, err)
	}
	w := run{Request: r, conversion: c}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.file(file); err != nil {
			w.unread++
			var at manifest.Position
			if syntax := (*manifest.Problem)(nil); errors.As(err, &syntax) {
				at = syntax.Position
			}
			w.message(file, at, "error: ", err.Error())
		}
		if w.read > MaxBytes {
			return fmt.Errorf("%wthe files together are larger than %d bytes; convert them in parts", silentError{ErrInput}, MaxBytes)
		}
	}
	return w.finish()
}

var errEmpty = errors.New("nothing was read: there is no document; give --allow-empty where that is no fault")

// silentError marks an error without adding to its message.
type silentError struct{ error }

func (silentError) Error() string   { return "" }
func (s silentError) Unwrap() error { return s.error }

func (r *Request) check() error {
	switch {
	case len(r.Paths) == 0:
		return errors.New("name files or folders, or - for the standard input")
	case r.Write && r.Check:
		return errors.New("--write and --check exclude each other")
	}
	for _, path := range r.Paths {
		if path == Stdin && r.Write {
			return errors.New("--write needs files: the standard input cannot be replaced")
		}
	}
	return nil
}

type run struct {
	Request
	conversion *Conversion
	out        bytes.Buffer
	json       bool // whether the last text in out is JSON
	read       int
	documents  int
	stale      int
	failed     int
	unread     int
	written    int
}

func (r *run) file(path string) error {
	text, err := load(path, r.Stdin)
	if err != nil {
		return err
	}
	r.read += len(text)
	result, err := r.conversion.Text(text)
	if err != nil {
		return err
	}
	r.documents += result.Documents
	if path == Stdin && len(bytes.TrimSpace(text)) == 0 && !r.AllowEmpty {
		return errEmpty
	}
	for _, failure := range result.Failed {
		r.message(path, failure.Position, "error: ", failure.String())
	}
	r.failed += len(result.Failed)
	r.stale += len(result.Stale)
	if r.Check {
		for _, found := range result.Stale {
			_, _ = fmt.Fprintf(&r.out, "%s:%d:%d: %s\n", displayName(path), found.Line, found.Column, found)
		}
		return nil
	}
	for _, note := range result.Notes {
		r.message(path, note.Position, "note: ", note.String())
	}
	switch {
	case !r.Write:
		r.append(result)
	case result.Changed && len(result.Failed) == 0:
		if err := replace(path, text, result.Text); err != nil {
			return err
		}
		r.written++
		_, _ = fmt.Fprintln(&r.out, displayName(path))
	}
	return nil
}

// append puts a text behind those before it, as documents of one stream.
func (r *run) append(result Result) {
	if len(result.Text) == 0 {
		return
	}
	if r.out.Len() > 0 {
		if !bytes.HasSuffix(r.out.Bytes(), []byte("\n")) {
			r.out.WriteByte('\n')
		}
		stream := result.JSON && r.json
		if !stream && !bytes.HasPrefix(result.Text, []byte("---")) {
			r.out.WriteString("---\n")
		}
	}
	r.json = result.JSON
	r.out.Write(result.Text)
}

// finish writes the output, and returns the error of the run.
func (r *run) finish() error {
	bad := r.failed+r.unread > 0
	if !bad || r.Check || r.Write {
		if _, err := r.Out.Write(r.out.Bytes()); err != nil {
			return fmt.Errorf("%wwrite: %w", silentError{ErrInput}, err)
		}
	}
	nothing := ""
	if bad && !r.Check && r.written == 0 {
		nothing = "; nothing was written"
	}
	switch {
	case r.unread == 0 && r.documents == 0 && !r.AllowEmpty:
		return fmt.Errorf("%w%w", silentError{ErrInput}, errEmpty)
	case r.unread > 0:
		return fmt.Errorf("%w%s could not be read or written%s", silentError{ErrInput}, count(r.unread, "file"), nothing)
	case r.failed > 0:
		return fmt.Errorf("%w%s could not be converted%s", silentError{ErrFound}, count(r.failed, "object"), nothing)
	case r.Check && r.stale > 0:
		return fmt.Errorf("%w%s not at %s; convert --to %[3]s --write", silentError{ErrFound}, count(r.stale, "object"), r.conversion.options.To)
	}
	return nil
}

func (r *run) message(path string, at manifest.Position, what, text string) {
	place := displayName(path)
	if at.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", place, at.Line, at.Column)
	}
	_, _ = fmt.Fprintf(r.Messages, "%s: %s%s\n", place, what, text)
}

func displayName(path string) string {
	if path == Stdin {
		return "stdin"
	}
	return path
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
