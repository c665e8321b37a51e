// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
)

// Resource is how a kind is served.
type Resource struct{ Group, Version, Plural string }

// path of a collection, or of an object where a name is given.
func (r Resource) path(namespace, name string) string {
	path := "/apis/" + r.Group
	if r.Group == "" {
		path = "/api"
	}
	path += "/" + r.Version
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + r.Plural
	if name != "" {
		path += "/" + name
	}
	return path
}

// List calls item with each object of a resource, in JSON and page by page: in the namespace of the options, or in all.
// An item need not have its apiVersion and kind. The resource namespaces is of no namespace.
func (c *Cluster) List(ctx context.Context, r Resource, item func(raw []byte) error) error {
	namespace := c.options.Namespace
	if r.Plural == "namespaces" {
		namespace = ""
	}
	return c.list(ctx, listing{path: r.path(namespace, ""), timeout: requestTimeout, retries: 3}, item)
}

// Get returns one object, in JSON.
func (c *Cluster) Get(ctx context.Context, r Resource, namespace, name string) ([]byte, error) {
	return c.get(ctx, r.path(namespace, name), "")
}

// GetMetadata returns the metadata of one object, as a PartialObjectMetadata in JSON.
func (c *Cluster) GetMetadata(ctx context.Context, r Resource, namespace, name string) ([]byte, error) {
	return c.get(ctx, r.path(namespace, name), namesOnly)
}
