// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	stock "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// DefaultMaxBody is in bytes. It is enough for an object and its stored state, of at most 1.5 MiB each in etcd, and
	// the rest of a review.
	DefaultMaxBody = 4 << 20
	// timeout bounds the work on a review. A shorter timeout in the request applies instead. It is the default of
	// timeoutSeconds of a webhook.
	timeout = 10 * time.Second
)

// Request is the request of a review. Its Kind is the version of the decoded objects. Its RequestKind is the version
// that the user wrote, which differs if the API server has converted the object (matchPolicy Equivalent).
type Request = stock.Request

// Options of Handlers.
type Options struct {
	// Kind is the only kind and version that is admitted; reviews of others are refused. Required.
	Kind schema.GroupVersionKind
	// MaxBody bounds a review, in bytes. Defaults to DefaultMaxBody.
	MaxBody int64
	// Logger logs refused requests and panics. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer registers the metrics. Handlers with the same Registerer share them. Defaults to nil: metrics are not
	// registered.
	Registerer prometheus.Registerer
}

// Mutator changes an object before it is validated. Its functions are called in this order, and each may be nil.
type Mutator[T client.Object] struct {
	// Default sets what the user left unset in obj. If it removes a field, the user's object keeps the field.
	Default func(obj T)
	// Stamp returns the annotations of fairlead.dev that only this webhook may set, with their values. An empty value
	// removes the annotation. obj has its defaults; old is as in Validator.Validate. An error refuses the object. If it
	// is an API status, it is the response.
	Stamp func(ctx context.Context, req Request, obj, old T) (map[string]string, error)
	// Finalizer is added to objects that are created, or updated without it. It is not added to objects that are being
	// deleted. Defaults to none.
	Finalizer string
}

// Validator decides whether an object is admitted.
type Validator[T client.Object] struct {
	// Fields returns errors about fields that the schema does not check, such as names that T does not have. The objects
	// are the JSON of the request; old is nil unless the operation is Update. Defaults to nil: the schema checks all
	// fields.
	Fields func(obj, old []byte) field.ErrorList
	// Validate returns warnings, and errors that refuse the object. old is nil unless the operation is Update, or if the
	// stored object does not decode as T. Defaults to nil: all objects are admitted.
	Validate func(ctx context.Context, req Request, obj, old T) (warnings []string, errs field.ErrorList)
}

// MutatePath returns the path of the mutating handler of a kind.
func MutatePath(kind schema.GroupVersionKind) string { return path("/mutate-", kind) }

// ValidatePath returns the path of the validating handler of a kind.
func ValidatePath(kind schema.GroupVersionKind) string { return path("/validate-", kind) }

func path(prefix string, kind schema.GroupVersionKind) string {
	return prefix + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}
