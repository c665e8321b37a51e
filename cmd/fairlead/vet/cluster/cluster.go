// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

const (
	// DefaultPageSize is how many objects are listed at a time.
	DefaultPageSize = 500
	// DefaultConvertTimeout is how long a LIST may take that has objects converted. While one of them
	// cannot be, the API server never answers it well, and asks to try again for a minute and more.
	DefaultConvertTimeout = 15 * time.Second
	// DefaultMaxUnreadable bounds the objects of a kind that are named since they cannot be read.
	DefaultMaxUnreadable = 100
	// readers is how many objects are asked for by name at a time.
	readers = 8
)

// Options of a Cluster.
type Options struct {
	// Config is how the API server is reached; required.
	Config *rest.Config
	// Name is what findings call the cluster. Defaults to "cluster".
	Name string
	// Namespace is the one whose objects are checked. Defaults to all.
	Namespace string
	// PageSize is how many objects are listed at a time. Defaults to DefaultPageSize.
	PageSize int
	// ConvertTimeout bounds a LIST at a version that is not the stored one. Default
	// DefaultConvertTimeout.
	ConvertTimeout time.Duration
	// MaxUnreadable bounds the objects of a kind and version that are named since they cannot be read;
	// then no more are asked for. Defaults to DefaultMaxUnreadable.
	MaxUnreadable int
	// Disabled are the ids of checks whose findings are not reported. Defaults to none.
	Disabled map[string]bool
}

// Cluster is what is checked.
type Cluster struct {
	options Options
	client  rest.Interface
}

// New returns a Cluster. It sends nothing.
func New(o Options) (*Cluster, error) {
	config := rest.CopyConfig(o.Config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.QPS = -1 // what is asked for at a time is bounded
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "cluster"
	}
	if o.PageSize <= 0 {
		o.PageSize = DefaultPageSize
	}
	if o.ConvertTimeout <= 0 {
		o.ConvertTimeout = DefaultConvertTimeout
	}
	if o.MaxUnreadable <= 0 {
		o.MaxUnreadable = DefaultMaxUnreadable
	}
	return &Cluster{options: o, client: client}, nil
}

// Name returns what findings call the cluster.
func (c *Cluster) Name() string { return c.options.Name }

// Check reports every object of Fairlead's kinds with what is wrong with it, and every kind. The error
// is about what could not be read: of the rest, the summary and the report hold nevertheless.
func (c *Cluster) Check(ctx context.Context, report func(vet.Object) error) (vet.Summary, error) {
	total := vet.Summary{Cluster: c.options.Name}
	var unread, missing []error
	var found []*definition
	served := map[schema.GroupKind][]string{}
	for _, kind := range vet.New(vet.Options{}).Kinds() { //nolint:contextcheck // schemas are parsed without one
		if kind.OfCluster && c.options.Namespace != "" {
			continue
		}
		d, err := c.definition(ctx, kind)
		if errors.Is(err, errNotInstalled) {
			missing = append(missing, err)
			continue
		}
		if err != nil {
			unread = append(unread, err)
			continue
		}
		found = append(found, d)
		served[kind.GroupKind] = d.served
	}
	if len(found) == 0 { // a kind may be left out, or come with a later version, but not all of them
		unread = append(unread, missing...)
	}
	v := vet.New(vet.Options{Stored: served, Disabled: c.options.Disabled}) //nolint:contextcheck // schemas are parsed without one
	for _, d := range found {
		run := &run{Cluster: c, definition: d, vet: v, report: func(o vet.Object) error { return report(c.withoutPosition(o)) }}
		err := run.check(ctx)
		total.Add(run.summary)
		if err != nil {
			unread = append(unread, fmt.Errorf("%s: %w", d.name, err))
		}
		if ctx.Err() != nil {
			return total, errors.Join(append(unread, context.Cause(ctx))...)
		}
	}
	return total, errors.Join(unread...)
}

// withoutPosition removes what only a file has.
func (c *Cluster) withoutPosition(o vet.Object) vet.Object {
	o.File, o.Document, o.Line = c.options.Name, 0, 0
	for i := range o.Findings {
		o.Findings[i].Line, o.Findings[i].Column = 0, 0
		vet.Identify(&o.Findings[i])
	}
	o.Findings = slices.DeleteFunc(o.Findings, func(f vet.Finding) bool { return c.options.Disabled[f.ID] })
	return o
}
