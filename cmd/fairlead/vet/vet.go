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
	// Workers is how many documents are checked at a time. Defaults to one for each processor.
	Workers int
	// MaxDocument bounds a document, in bytes. Defaults to files.DefaultMaxBytes.
	MaxDocument int
	// Stored are the served versions of the cluster that has stored the objects: what it adds to them is
	// checked as well. Defaults to none, for files.
	Stored map[schema.GroupKind][]string
	// Disabled are the ids of checks whose findings are not reported. Defaults to none.
	Disabled map[string]bool
	// AllowEmpty takes a standard input without any document for success. Defaults to false: it is an error, since
	// the command before the pipe may have failed.
	AllowEmpty bool
	// Program is how the user calls this one, for messages. Defaults to fairlead.
	Program string
}

// Vet checks manifests. It compiles the CRD of a kind once, for the first object of that kind.
type Vet struct {
	kinds       map[schema.GroupKind]*kind
	all         []*kind
	workers     int
	maxDocument int
	stored      map[schema.GroupKind][]string
	disabled    map[string]bool
	allowEmpty  bool
	program     string
}

// New returns a Vet for all kinds of Fairlead.
func New(o Options) *Vet {
	v := &Vet{kinds: map[schema.GroupKind]*kind{}, workers: o.Workers, maxDocument: o.MaxDocument, stored: o.Stored,
		disabled: o.Disabled, allowEmpty: o.AllowEmpty, program: cmp.Or(o.Program, "fairlead")}
	v.all = kinds()
	for _, k := range v.all {
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
	// OfCluster means that its objects have no namespace.
	OfCluster bool
}

// Kinds lists all of them.
func (v *Vet) Kinds() []Kind {
	all := make([]Kind, 0, len(v.all))
	for _, k := range v.all {
		all = append(all, Kind{k.GroupKind, k.plural, k.ofCluster})
	}
	return all
}

// Source visits files one after the other, as files.Walk does.
type Source func(files.Visit) error

// job is a part of a file on its way through the workers.
type job struct {
	file  string
	above []byte // comments before the marker of the document
	part  manifest.Part
	done  chan []document
}

// document is the result of one document.
type document struct {
	objects    []result
	otherKinds int // of other kinds
	// templated: the text has actions of a Helm template.
	templated bool
	ignore    ignoreComments
}

// result is an object, and what is needed to compare it with others.
type result struct {
	Object
	kind *kind // nil where it is unknown
	// configuration: it is the operator's, or a ConfigMap that holds it.
	configuration bool
	typed         any // at the hub version; nil where it could not be read
	// newFinding returns a finding for a text that begins with a path.
	newFinding func(Severity, Rule, string) Finding
}

// Run checks what a source has, and reports every object of Fairlead's kinds, and every document that
// cannot be read, in the order of the source. The error is of the source, of report, or of the
// context; the summary counts what was reported nevertheless.
func (v *Vet) Run(ctx context.Context, source Source, report func(Object) error) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		queue     = make(chan job)
		order     = make(chan job, 4*v.workers) // which bounds what is in memory at a time
		collected = newCollector(report, v.disabled)
		group     sync.WaitGroup
		read      error
	)
	group.Go(func() {
		defer close(order)
		defer close(queue)
		read = source(func(name string, content io.Reader) error {
			collected.files.Add(1)
			return v.split(ctx, name, content, func(j job) error {
				// A job that was sent is always done, so its result can be waited for in order.
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
				j.done <- v.checkPart(ctx, j)
			}
		})
	}
	var failed error
	for j := range order {
		documents := <-j.done
		if failed == nil {
			if failed = collected.add(j.file, documents); failed != nil {
				cancel()
			}
		}
	}
	cause := context.Cause(ctx)
	if failed != nil {
		cause = nil
	}
	group.Wait()
	return collected.summary(), errors.Join(read, failed, cause)
}

// split cuts a file into jobs.
func (v *Vet) split(ctx context.Context, name string, content io.Reader, send func(job) error) error {
	var above []byte
	documents := 0
	for splitter := manifest.NewSplitter(content, v.maxDocument); ctx.Err() == nil; {
		part, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			if documents == 0 && name == files.StdinName && !v.allowEmpty {
				return errors.New("nothing was read: did the command before the pipe fail? Use --allow-empty to accept empty input")
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

// checkPart checks a part. Should a rule, or a library, panic, then that is a finding.
func (v *Vet) checkPart(ctx context.Context, j job) (all []document) {
	defer func() {
		if p := recover(); p != nil {
			all = append(all, document{objects: []result{{Object: Object{Line: j.part.Line, Findings: []Finding{{
				Severity: Error, Rule: RuleInternal, Line: j.part.Line, Column: 1,
				Message: fmt.Sprintf("the check broke off with a panic: %v; please report it, with this document", p),
			}}}}}})
		}
	}()
	ignore := parseIgnore(j.part)
	before := parseIgnore(manifest.Part{Text: j.above, Line: 1})
	if before.all || ignore.all {
		return []document{{ignore: ignoreComments{all: true}}}
	}
	ignore.ids = append(ignore.ids, before.ids...)
	for _, parsed := range manifest.Read(j.part) {
		d := v.checkDocument(ctx, j.part, parsed)
		d.ignore = ignore
		all = append(all, d)
	}
	if len(ignore.findings) > 0 {
		all = append(all, document{objects: []result{{Object: Object{Line: j.part.Line, Findings: ignore.findings}}}})
	}
	return all
}
