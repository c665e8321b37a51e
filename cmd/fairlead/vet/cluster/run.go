// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// run is the check of one kind.
type run struct {
	*Cluster
	*definition
	vet     *vet.Vet
	report  func(vet.Object) error
	summary vet.Summary
	unread  []vet.Object // that cannot be read
}

// check checks the kind, the objects as they are stored, and whether they can be read at the other
// versions.
func (r *run) check(ctx context.Context) error {
	stored := r.checkStored(ctx)
	if isForbidden(stored) {
		return r.forbiddenError(stored)
	}
	var unread []error
	if stored != nil {
		unread = append(unread, stored)
	}
	for _, version := range r.served {
		if version == r.storage || ctx.Err() != nil {
			continue
		}
		if err := r.checkReadable(ctx, version); err != nil {
			unread = append(unread, err)
		}
	}
	r.unread = append(r.unread, vet.Object{Kind: r.Kind.Kind, APIVersion: r.Group + "/" + r.storage, Findings: r.findings})
	for _, o := range r.unread {
		if err := r.reportFindings(o); err != nil {
			return errors.Join(append(unread, err)...)
		}
	}
	return errors.Join(unread...)
}

// checkStored checks every object as it is stored, with the rules for files.
func (r *run) checkStored(ctx context.Context) error {
	var failed error
	summary, err := r.vet.Run(ctx, func(visit files.Visit) error {
		check := func(raw []byte) error { return visit(r.options.Name, bytes.NewReader(raw)) }
		failed = r.list(ctx, listing{path: r.path(r.storage, r.options.Namespace, ""), timeout: requestTimeout, retries: 3}, check)
		if failed == nil || errors.Is(failed, files.ErrStop) || isForbidden(failed) || ctx.Err() != nil {
			return nil //nolint:nilerr // failed is returned below
		}
		return r.byName(ctx, r.storage, failed, check)
	}, r.report)
	summary.Files = 0
	r.summary.Add(summary)
	if isForbidden(failed) {
		return failed
	}
	return err
}

// checkReadable checks that every object can be read at a version.
func (r *run) checkReadable(ctx context.Context, version string) error {
	nothing := func([]byte) error { return nil }
	err := r.list(ctx, listing{path: r.path(version, r.options.Namespace, ""), accept: listOnly, timeout: r.options.ConvertTimeout}, nothing)
	switch {
	case err == nil:
		return nil
	case isForbidden(err):
		return r.forbiddenError(err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return r.byName(ctx, version, err, nil)
}

// isForbidden reports whether the API server refuses the LIST.
func isForbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

func (r *run) forbiddenError(err error) error {
	where, remedy := "in namespace "+r.options.Namespace, ""
	if r.options.Namespace == "" {
		where, remedy = "in all namespaces", ", or name a namespace with -n"
	}
	return fmt.Errorf("nothing of it was checked: list %s is needed%s: %w", where, remedy, err)
}

// reportFindings reports findings that are not of the rules.
func (r *run) reportFindings(o vet.Object) error {
	for _, f := range o.Findings {
		if f.Severity == vet.Error {
			r.summary.Errors++
		} else {
			r.summary.Warnings++
		}
	}
	if len(o.Findings) == 0 {
		return nil
	}
	return r.report(o)
}
