// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReadOnly is a client that only reads, for a forecast: its writes are those of no client at all.
type ReadOnly struct {
	client.Client
	Reader client.Reader
}

// Get reads by the Reader.
func (r ReadOnly) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return r.Reader.Get(ctx, key, into, options...)
}

// List reads by the Reader.
func (r ReadOnly) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, into, options...)
}
