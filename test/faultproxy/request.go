// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// Request is a client's request to the API server, in the words of RBAC.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// Group, Resource, Subresource, Namespace and Name are empty where the request has none. The Name of a list or
	// a watch is that of its field selector.
	Group, Resource, Subresource, Namespace, Name string
	// Path is that of the URL.
	Path string
}

// String is the verb with the resource, such as "get leases.coordination.k8s.io" or "create pods/eviction", or with
// the path where there is no resource.
func (r Request) String() string {
	if r.Resource == "" {
		return r.Verb + " " + r.Path
	}
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return r.Verb + " " + resource
}

var verbs = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// requestOf reads a request as the API server does.
func requestOf(method string, u *url.URL) Request {
	r := Request{Verb: verbs[method], Path: u.Path}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, parts = parts[1], parts[3:]
	default:
		return r
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = strings.Join(parts[2:], "/")
	}
	query := u.Query()
	switch {
	case r.Verb == "get" && (query.Get("watch") == "true" || query.Get("watch") == "1"):
		r.Verb = "watch"
	case r.Verb == "get" && r.Name == "":
		r.Verb = "list"
	case r.Verb == "delete" && r.Name == "":
		r.Verb = "deletecollection"
	}
	if selector, err := fields.ParseSelector(query.Get("fieldSelector")); err == nil && r.Name == "" {
		r.Name, _ = selector.RequiresExactMatch("metadata.name")
	}
	return r
}

// Match tells which requests are meant.
type Match func(Request) bool

// Any matches every request.
func Any(Request) bool { return true }

// Is matches the requests that String words like this.
func Is(request string) Match { return func(r Request) bool { return r.String() == request } }

// Reads matches get, list and watch of a resource, such as "leases.coordination.k8s.io".
func Reads(resource string) Match {
	return func(r Request) bool {
		_, of, _ := strings.Cut(r.String(), " ")
		return of == resource && (r.Verb == "get" || r.Verb == "list" || r.Verb == "watch")
	}
}
