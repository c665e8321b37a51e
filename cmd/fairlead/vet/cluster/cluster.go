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
	// DefaultPageSize is the number of objects in a page of a LIST.
	DefaultPageSize = 500
	// DefaultConvertTimeout bounds a LIST whose objects must be converted. If one object cannot be converted, the LIST fails: the API
	// server then asks the client to retry for more than a minute.
	DefaultConvertTimeout = 15 * time.Second
	// DefaultMaxUnreadable is how many unreadable objects of a kind are reported by name.
	DefaultMaxUnreadable = 100
	// readers is how many objects are read by name at the same time.
	readers = 8
)

// Options of New.
type Options struct {
	// Config is the configuration of the client of the API server. Required.
	Config *rest.Config
	// Name is the name of the cluster in findings. Defaults to "cluster".
	Name string
	// Namespace restricts the check to the objects of one namespace. Defaults to all namespaces.
	Namespace string
	// PageSize is the number of objects in a page of a LIST. Defaults to DefaultPageSize.
	PageSize int
	// ConvertTimeout bounds a LIST at a version other than the stored one. Defaults to DefaultConvertTimeout.
	ConvertTimeout time.Duration
	// MaxUnreadable is how many unreadable objects of a kind and version are reported by name. The others are not read. Defaults to
	// DefaultMaxUnreadable.
	MaxUnreadable int
	// Disabled are the ids of checks whose findings are not reported. Defaults to none.
	Disabled map[string]bool
}

// Cluster checks the objects that a cluster has stored.
type Cluster struct {
	options Options
	client  rest.Interface
}

// New returns a Cluster. It sends nothing.
func New(o Options) (*Cluster, error) {
	config := rest.CopyConfig(o.Config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.QPS = -1 // no limit of the rate: the number of requests at a time is bounded
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

// Name returns the name of the cluster in findings.
func (c *Cluster) Name() string { return c.options.Name }

// Check calls report with each object of Fairlead's kinds and with each kind, and with the findings about them. The error joins all
// that could not be read; the summary counts the rest.
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
	if len(found) == 0 { // one missing CRD is no error: its kind may be left out; that all are missing is one
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

// withoutPosition removes the document, the lines and the columns of an object and its findings, which only a file has.
func (c *Cluster) withoutPosition(o vet.Object) vet.Object {
	o.File, o.Document, o.Line = c.options.Name, 0, 0
	for i := range o.Findings {
		o.Findings[i].Line, o.Findings[i].Column = 0, 0
		vet.Identify(&o.Findings[i])
	}
	o.Findings = slices.DeleteFunc(o.Findings, func(f vet.Finding) bool { return c.options.Disabled[f.ID] })
	return o
}
