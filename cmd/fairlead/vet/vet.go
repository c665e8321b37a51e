// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// Options of a Vet.
type Options struct {
	// Workers is how many documents are checked at a time. Default: one for each processor.
	Workers int
	// MaxDocument bounds a document, in bytes. Default files.DefaultMaxBytes.
	MaxDocument int
	// Stored says that the objects were read from a cluster, which has stored them and serves their
	// kinds at these versions: then what became of them there is checked, too. Default: they were not.
	Stored map[schema.GroupKind][]string
	// Disabled are the ids of checks whose findings are not reported. Default: none.
	Disabled map[string]bool
	// AllowEmpty takes a standard input without any document for success. Default: it is an error, since
	// the command before the pipe may have failed.
	AllowEmpty bool
	// Program is how the user calls this one, for messages. Default: fairlead.
	Program string
}

// Vet checks manifests. It is made once, and compiles the definition of a kind when it first meets it.
type Vet struct {
	kinds       map[schema.GroupKind]*kind
	ours        []*kind
	workers     int
	maxDocument int
	stored      map[schema.GroupKind][]string
	disabled    map[string]bool
	allowEmpty  bool
	program     string
}

// New makes a Vet for all kinds of Fairlead.
func New(o Options) *Vet {
	v := &Vet{kinds: map[schema.GroupKind]*kind{}, workers: o.Workers, maxDocument: o.MaxDocument, stored: o.Stored,
		disabled: o.Disabled, allowEmpty: o.AllowEmpty, program: cmp.Or(o.Program, "fairlead")}
	v.ours = kinds()
	for _, k := range v.ours {
		v.kinds[k.GroupKind] = k
	}
	if v.workers <= 0 {
		v.workers = runtime.GOMAXPROCS(0)
	}
	if v.maxDocument <= 0 {
		v.maxDocument = files.DefaultMaxBytes
	}
	return v
}

// Kind is a kind of Fairlead's and the resource that it is served as.
type Kind struct {
	schema.GroupKind
	Plural string
}

// Kinds lists all of them.
func (v *Vet) Kinds() []Kind {
	all := make([]Kind, 0, len(v.ours))
	for _, k := range v.ours {
		all = append(all, Kind{k.GroupKind, k.plural})
	}
	return all
}

// Source hands over files, one after the other, such as files.Walk does.
type Source func(files.Visit) error

// job is a part of a file on its way through the workers.
type job struct {
	file  string
	above []byte // comments that stand in front of the marker of the document
	part  manifest.Part
	done  chan []document
}

// document is what became of one document.
type document struct {
	objects []checked
	passed  int // of other kinds
	// templated says that the text has what templates of Helm have.
	templated bool
	ignore    ignoring
}

// checked is an object, and what is needed to compare it with others.
type checked struct {
	Object
	kind  *kind // nil where it could not be told
	typed any   // at the hub version; nil where it could not be read
	// placed makes a finding of a text that begins with a path.
	placed func(Severity, Rule, string) Finding
	// restore is how large the largest annotation is that another version has to carry.
	restore int
}

// Run checks what a source has, and reports every object of Fairlead's kinds, and every document that
// cannot be read, in the order of the source. The error is of the source, of report, or of the
// context; the summary counts what was reported nevertheless.
func (v *Vet) Run(ctx context.Context, source Source, report func(Object) error) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		queue = make(chan job)
		order = make(chan job, 4*v.workers) // which bounds what is in memory at a time
		tally = newTally(report, v.disabled)
		group sync.WaitGroup
		read  error
	)
	group.Go(func() {
		defer close(order)
		defer close(queue)
		read = source(func(name string, content io.Reader) error {
			tally.files.Add(1)
			return v.split(ctx, name, content, func(j job) error {
				// A job is done once it was taken, so a waiter always gets its result in order.
				select {
				case queue <- j:
					order <- j
					return nil
				case <-ctx.Done():
					return files.ErrStop
				}
			})
		})
	})
	for range v.workers {
		group.Go(func() {
			for j := range queue {
				j.done <- v.documents(ctx, j)
			}
		})
	}
	var failed error
	for j := range order {
		documents := <-j.done
		if failed == nil {
			if failed = tally.add(j.file, documents); failed != nil {
				cancel()
			}
		}
	}
	cause := context.Cause(ctx)
	if failed != nil {
		cause = nil
	}
	group.Wait()
	return tally.summary(), errors.Join(read, failed, cause)
}

// split cuts a file into jobs.
func (v *Vet) split(ctx context.Context, name string, content io.Reader, send func(job) error) error {
	var above []byte
	documents := 0
	for splitter := manifest.NewSplitter(content, v.maxDocument); ctx.Err() == nil; {
		part, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			if documents == 0 && name == files.StdinName && !v.allowEmpty {
				return errors.New("nothing was read: did the command in front of the pipe fail? Give --allow-empty where nothing is no fault")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if part.Empty() {
			above = part.Text
			continue
		}
		documents++
		if err := send(job{file: name, above: above, part: part, done: make(chan []document, 1)}); err != nil {
			return err
		}
		above = nil
	}
	return files.ErrStop
}

// documents checks a part. Should a rule, or a library, panic, then that is a finding.
func (v *Vet) documents(ctx context.Context, j job) (all []document) {
	defer func() {
		if p := recover(); p != nil {
			all = append(all, document{objects: []checked{{Object: Object{Line: j.part.Line, Findings: []Finding{{
				Severity: Error, Rule: RuleInternal, Line: j.part.Line, Column: 1,
				Message: fmt.Sprintf("the check broke off with a panic: %v; please report it, with this document", p),
			}}}}}})
		}
	}()
	ignore := ignored(j.part)
	before := ignored(manifest.Part{Text: j.above, Line: 1})
	if before.whole || ignore.whole {
		return []document{{ignore: ignoring{whole: true}}}
	}
	ignore.ids = append(ignore.ids, before.ids...)
	for _, parsed := range manifest.Read(j.part) {
		d := v.document(ctx, j.part, parsed)
		d.ignore = ignore
		all = append(all, d)
	}
	if len(ignore.wrong) > 0 {
		all = append(all, document{objects: []checked{{Object: Object{Line: j.part.Line, Findings: ignore.wrong}}}})
	}
	return all
}
