// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// DefaultMaxBody is in bytes; it holds an object and its old state at the 1.5 MiB that etcd takes of
	// either, and the rest of the review.
	DefaultMaxBody = 4 << 20
	// DefaultTimeout is the timeoutSeconds of a webhook that sets none.
	DefaultTimeout = 10 * time.Second
)

// Options of a handler.
type Options struct {
	// Kind is the one kind and version that is admitted; reviews of any other are refused.
	// Required.
	Kind schema.GroupVersionKind
	// MaxBody bounds a review, in bytes. Default DefaultMaxBody.
	MaxBody int64
	// Timeout bounds the work on a review; what the request itself allows may be less. Default
	// DefaultTimeout.
	Timeout time.Duration
	// Author returns who is told what is wrong with an object that was written at another version than
	// Kind, given as a bare version such as "v1alpha1", and the object at Kind. It is asked only where
	// there is something to tell. Default: everybody is taken to know the object at Kind.
	Author func(version string, object []byte) Author
	// Logger is told of refused requests and panics. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer exposes the metrics; handlers that share one share the families. Default: they
	// are not exposed.
	Registerer prometheus.Registerer
}

// Mutator sets what a user left unset.
type Mutator[T any] struct {
	// Default changes obj in place: it adds and it may replace, but it never removes anything nor
	// shortens a list, and it leaves annotations of fairlead.dev alone; the handler refuses the
	// object otherwise, as that is a defect in the defaulter. An error that is an API status is
	// answered as it is, any other as an internal error.
	Default func(ctx context.Context, obj *T) error

	// Keep returns what the update of an object should leave of the stored one, both as JSON, where
	// the request was made at a version that cannot express all of it. It is asked before Default. An
	// error is logged, and the object stays as it was sent. Default: nothing is kept.
	Keep func(req Request, object, stored []byte) (Kept, error)

	// Stamp returns the annotations that this webhook alone decides about, with their values; an
	// empty value takes the annotation away, regardless of who wrote it. It sees obj with its defaults, and
	// old as a Validator does. Its errors are answered as those of Default. Default: none.
	Stamp func(ctx context.Context, req Request, obj, old *T) (map[string]string, error)
}

// Kept is what an update leaves of the stored object.
type Kept struct {
	// Spec replaces the object's; nil leaves it.
	Spec []byte
	// Annotations are set as those of Stamp.
	Annotations map[string]string
	// Warnings tell the user of it.
	Warnings []string
}

// Validator decides whether an object is admitted.
type Validator[T any] struct {
	// Validate returns warnings, and errors that refuse the object. Old is nil unless the
	// operation is Update, and also where the stored object is so broken that it fits no T.
	Validate func(ctx context.Context, req Request, obj, old *T) (warnings []string, errs field.ErrorList)
}

// Mutating returns the handler of a mutating webhook.
func Mutating[T any](o Options, m Mutator[T]) http.Handler {
	return newHandler(o, "mutating", mutation[T]{kind: o.Kind, apply: m.Default, keep: m.Keep, stamp: m.Stamp, objects: objectsOf[T](), log: o.Logger})
}

// Validating returns the handler of a validating webhook.
func Validating[T any](o Options, v Validator[T]) http.Handler {
	return newHandler(o, "validating", validation[T]{check: v.Validate, objects: objectsOf[T](), log: o.Logger})
}

// MutatePath is where the mutating handler of a kind is served.
func MutatePath(kind schema.GroupVersionKind) string { return path("/mutate-", kind) }

// ValidatePath is where the validating handler of a kind is served.
func ValidatePath(kind schema.GroupVersionKind) string { return path("/validate-", kind) }

func path(prefix string, kind schema.GroupVersionKind) string {
	return prefix + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}
