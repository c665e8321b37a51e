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
	// DefaultMaxBody is in bytes; it holds an object and its old state at the 1.5 MiB that etcd takes of
	// either, and the rest of the review.
	DefaultMaxBody = 4 << 20
	// timeout bounds the work on a review; what the request itself allows may be less. It is the
	// timeoutSeconds of a webhook that sets none.
	timeout = 10 * time.Second
)

// Request is the request of a review. Its Kind is the version that the objects have here, its RequestKind the one that
// the user wrote: another one where the API server converted (matchPolicy Equivalent).
type Request = stock.Request

// Options of the handlers.
type Options struct {
	// Kind is the one kind and version that is admitted; reviews of any other are refused.
	// Required.
	Kind schema.GroupVersionKind
	// MaxBody bounds a review, in bytes. Defaults to DefaultMaxBody.
	MaxBody int64
	// Logger logs refused requests and panics. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer registers the metrics; handlers that share one share the families. Defaults to nil: metrics
	// are not registered.
	Registerer prometheus.Registerer
}

// Mutator changes an object before it is validated. Its functions are called in this order, and each may be nil.
type Mutator[T client.Object] struct {
	// Default sets in obj what the user left unset. What it takes away stays in the object of the user.
	Default func(obj T)
	// Stamp returns the annotations of fairlead.dev that this webhook alone decides about, with their values; an
	// empty value removes the annotation, regardless of who wrote it. It sees obj with its defaults, and old as a
	// Validator does. An error refuses the object, as it is where it is an API status.
	Stamp func(ctx context.Context, req Request, obj, old T) (map[string]string, error)
	// Finalizer is added to an object that is created, or updated without it, unless it is deleted. Defaults to none.
	Finalizer string
}

// Validator decides whether an object is admitted.
type Validator[T client.Object] struct {
	// Fields returns errors of fields that the schema does not check, such as names that T does not know. The objects are the
	// JSON of the request; old is nil unless the operation is Update. Defaults to nil: the schema checks all.
	Fields func(obj, old []byte) field.ErrorList
	// Validate returns warnings, and errors that refuse the object. Old is nil unless the operation is Update, and also
	// where the stored object is so broken that it does not decode as a T. Defaults to nil: all is admitted.
	Validate func(ctx context.Context, req Request, obj, old T) (warnings []string, errs field.ErrorList)
}

// MutatePath is where the mutating handler of a kind is served.
func MutatePath(kind schema.GroupVersionKind) string { return path("/mutate-", kind) }

// ValidatePath is where the validating handler of a kind is served.
func ValidatePath(kind schema.GroupVersionKind) string { return path("/validate-", kind) }

func path(prefix string, kind schema.GroupVersionKind) string {
	return prefix + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}
