// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	stock "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// Handlers returns the handlers of both webhooks of a kind by path.
func Handlers[T client.Object](o Options, m Mutator[T], v Validator[T]) map[string]http.Handler {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(o.Kind, newObject[T]())
	e := &engine[T]{m, v, stock.NewDecoder(scheme), o.Logger}
	defaulter, validator := stock.WithDefaulter(scheme, e).Handler, stock.WithValidator(scheme, e).Handler
	return map[string]http.Handler{
		MutatePath(o.Kind): newHandler(o, "mutating", func(ctx context.Context, req Request) stock.Response {
			return mutate(ctx, req, defaulter)
		}),
		ValidatePath(o.Kind): newHandler(o, "validating", func(ctx context.Context, req Request) stock.Response {
			return e.validate(ctx, req, validator)
		}),
	}
}

// engine calls a Mutator and a Validator through the interfaces of controller-runtime. Its handlers, called stock here,
// decode the objects. Names of fields are matched exactly. A field that T does not know is left out: during an upgrade,
// the CRD may be newer.
type engine[T client.Object] struct {
	mutator   Mutator[T]
	validator Validator[T]
	decoder   stock.Decoder
	log       logr.Logger
}

var (
	_ stock.Defaulter[client.Object] = (*engine[client.Object])(nil)
	_ stock.Validator[client.Object] = (*engine[client.Object])(nil)
)

// call passes values between a handler and the method that the stock handler calls.
type call struct {
	req     Request
	decoded bool            // whether the method was called
	patch   []byte          // RFC 6902; nil if nothing changes
	fields  field.ErrorList // the errors of Validator.Fields
}

type callKey struct{}

// handle makes a stock handler decode the object and call its method. The stock handler sees every review as a
// creation. For an update, it would decode the stored object as well, and refuse the update if that fails. But the
// update may be the repair.
func (c *call) handle(ctx context.Context, by stock.Handler) stock.Response {
	req := c.req
	req.Operation = admissionv1.Create
	return by.Handle(context.WithValue(ctx, callKey{}, c), req)
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	c.decoded = true
	return c
}

// mutate allows an object that does not decode. The API server validates it next, and names the invalid field in the
// written version. If the schema allows what T does not, the validating webhook refuses the object.
func mutate(ctx context.Context, req Request, by stock.Handler) stock.Response {
	c := &call{req: req}
	if resp := c.handle(ctx, by); c.decoded && !resp.Allowed {
		return resp
	}
	resp := stock.Allowed("")
	if c.patch != nil {
		resp.Patch, resp.PatchType = c.patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	return resp
}

// validate refuses an object that does not decode.
func (e *engine[T]) validate(ctx context.Context, req Request, by stock.Handler) stock.Response {
	c := &call{req: req}
	if e.validator.Fields != nil {
		c.fields = e.validator.Fields(req.Object.Raw, req.OldObject.Raw)
	}
	resp := c.handle(ctx, by)
	if c.decoded {
		return resp
	}
	var status *apierrors.StatusError
	if _, err := asWritten(req, nil, c.fields); errors.As(err, &status) {
		return failed(status)
	}
	return failed(apierrors.NewBadRequest(label(req) + ": " + review.Cut(resp.Result.Message, maxMessage)))
}

// Default computes the patch. It does not change obj, so that the stock handler computes none. Such a patch would
// rewrite the whole object as its type does, such as a quantity of 0.5 as 500m.
func (e *engine[T]) Default(ctx context.Context, obj T) error {
	c := callOf(ctx)
	obj, _ = obj.DeepCopyObject().(T)
	obj.SetManagedFields(nil) // they may be half of the object
	before, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	if err := e.change(ctx, c.req, obj); err != nil {
		return err
	}
	after, err := json.Marshal(obj)
	if err == nil {
		c.patch, err = newPatch(c.req.Object.Raw, before, after)
	}
	return err
}

// change sets the defaults, the stamped annotations and the finalizer in obj.
func (e *engine[T]) change(ctx context.Context, req Request, obj T) error {
	if e.mutator.Default != nil {
		e.mutator.Default(obj)
	}
	if e.mutator.Stamp != nil {
		stamps, err := e.mutator.Stamp(ctx, req, obj, e.stored(req))
		if err != nil {
			return err
		}
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		for name, value := range stamps {
			if annotations[name] = value; value == "" {
				delete(annotations, name)
			}
		}
		obj.SetAnnotations(annotations)
	}
	// An update may have removed it, such as a replace by a manifest without finalizers. It cannot be added while the
	// object is being deleted.
	if name := e.mutator.Finalizer; name != "" && obj.GetDeletionTimestamp() == nil && !slices.Contains(obj.GetFinalizers(), name) {
		obj.SetFinalizers(append(obj.GetFinalizers(), name))
	}
	return nil
}

// ValidateCreate validates creations and updates.
func (e *engine[T]) ValidateCreate(ctx context.Context, obj T) (stock.Warnings, error) {
	c := callOf(ctx)
	if e.validator.Validate == nil {
		return asWritten(c.req, nil, c.fields)
	}
	warnings, errs := e.validator.Validate(ctx, c.req, obj, e.stored(c.req))
	return asWritten(c.req, warnings, append(c.fields, errs...))
}

// ValidateUpdate is not called.
func (e *engine[T]) ValidateUpdate(ctx context.Context, _, obj T) (stock.Warnings, error) {
	return e.ValidateCreate(ctx, obj)
}

// ValidateDelete is not called.
func (e *engine[T]) ValidateDelete(context.Context, T) (stock.Warnings, error) { return nil, nil }

// stored returns the stored object of an update. It is nil if the object does not decode as T, since it was stored
// under another schema.
func (e *engine[T]) stored(req Request) (none T) {
	if req.Operation != admissionv1.Update {
		return none
	}
	old := newObject[T]()
	if err := e.decoder.DecodeRaw(req.OldObject, old); err != nil {
		e.log.Info("The stored object does not fit its type; the update is checked as if it created it",
			"object", label(req), "reason", review.Cut(err.Error(), maxMessage))
		return none
	}
	return old
}

// newObject returns an empty object of a pointer type.
func newObject[T client.Object]() T {
	obj, _ := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	return obj
}
