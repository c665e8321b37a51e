// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// Object is a pointer to T that has metadata.
type Object[T any] interface {
	*T
	metav1.Object
}

// Entitlement decides about the approvals of the objects of one kind. All fields are required.
type Entitlement[T any, P Object[T]] struct {
	Reviewer Reviewer
	// Noun names the kind in messages, such as "policy".
	Noun string
	// Needs returns the rights that a writer of the object needs.
	Needs func(obj P, namespace string) []Need
	// Digest returns a digest of everything in the object that an approval covers.
	Digest func(obj P) string
	// Starts reports whether obj begins to act with this update of old, such as after a dry run.
	Starts func(obj, old P) bool
	// Commands are the annotations that make the operator act whenever their value changes.
	Commands []string
}

// Stamp returns the annotation with the approval of obj. If a writer does not change what obj does, the stored approval
// stays. It may not cover the spec, such as one by an earlier version of Fairlead: then the next write of a user with
// the rights renews it. If there is none, a user who does not change the spec approves it only on request, with any
// value of the annotation. Controllers with many rights write objects too, such as to remove a finalizer, and do not
// mean to approve them.
func (e *Entitlement[T, P]) Stamp(ctx context.Context, req admission.Request, obj, old P) (map[string]string, error) {
	given, stored := Approval[T](obj), Approval[T](old)
	same := e.same(obj, old)
	switch {
	case req.SubResource != "":
		return nil, nil
	case obj.GetDeletionTimestamp() != nil, same && approval.Covers(stored, e.Digest(old)):
		return Stamp(stored), nil
	case same && stored == "" && given == "":
		return Stamp(""), nil
	}
	lacking, err := e.lacking(ctx, req, obj)
	switch {
	case same && given == stored && (err != nil || len(lacking) > 0):
		return Stamp(stored), nil //nolint:nilerr // it does not cover the spec, and shows that an earlier form was approved
	case errors.As(err, new(tooMany)): // Validate refuses it
		return Stamp(""), nil
	case err != nil:
		return nil, RetryLater(req, Unknown(req, err))
	case len(lacking) > 0: // Validate refuses it, right by right
		return Stamp(""), nil
	}
	return Stamp(approval.Value(req.UserInfo.Username, e.Digest(obj))), nil
}

// Validate refuses an object that needs rights which the writer lacks, and an approval that Stamp would not have given.
// Mutating webhooks of others may have run after Stamp. So an approval counts only if it was stored before, or is by
// the writer, who has the rights.
func (e *Entitlement[T, P]) Validate(ctx context.Context, req admission.Request, obj, old P) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	annotation := field.NewPath("metadata", "annotations").Key(common.ApprovedByAnnotation)
	given := Approval[T](obj)
	claimed := given != "" && given != Approval[T](old)
	if e.same(obj, old) && !claimed {
		return e.unapproved(annotation, obj), nil
	}
	lacking, err := e.lacking(ctx, req, obj)
	if err == nil && len(lacking) == 0 && given != approval.Value(req.UserInfo.Username, e.Digest(obj)) {
		return nil, field.ErrorList{field.Forbidden(annotation,
			"is not as Fairlead set it: another admission webhook has changed the object, or rights have just changed; try again")}
	}
	return nil, refusals(req, lacking, err)
}

// Refusals returns an error for each of these needs whose right the writer lacks. They are in addition to the needs of
// the object itself.
func Refusals(ctx context.Context, reviewer Reviewer, req admission.Request, all []Need) field.ErrorList {
	missing, err := lacking(ctx, reviewer, req, all)
	return refusals(req, missing, err)
}

// refusals returns an error for each lacking right, or for all if the review failed.
func refusals(req admission.Request, lacking []Need, err error) (errs field.ErrorList) {
	var excess tooMany
	switch {
	case errors.As(err, &excess):
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), excess.Error())}
	case err != nil:
		return field.ErrorList{field.InternalError(field.NewPath("spec"), Unknown(req, err))}
	}
	for _, n := range lacking {
		errs = append(errs, n.refusal(User(req)))
	}
	return errs
}

// lacking returns the first need of each right that the writer lacks.
func (e *Entitlement[T, P]) lacking(ctx context.Context, req admission.Request, obj P) ([]Need, error) {
	return lacking(ctx, e.Reviewer, req, e.Needs(obj, req.Namespace))
}

func lacking(ctx context.Context, reviewer Reviewer, req admission.Request, all []Need) ([]Need, error) {
	rights := make([]authorizationv1.ResourceAttributes, len(all))
	first := make(map[authorizationv1.ResourceAttributes]Need, len(all))
	for i, n := range all {
		rights[i] = n.Right
		if _, has := first[n.Right]; !has {
			first[n.Right] = n
		}
	}
	missing, err := review(ctx, reviewer, req.UserInfo, rights)
	if err != nil {
		return nil, err
	}
	var found []Need
	for _, right := range missing {
		found = append(found, first[right])
	}
	return found, nil
}

// unapproved warns of an object that is not approved and thus does nothing. It was stored without an approval, or
// changed while the webhook was not called.
func (e *Entitlement[T, P]) unapproved(annotation *field.Path, obj P) []string {
	if approval.Covers(Approval[T](obj), e.Digest(obj)) {
		return nil
	}
	return []string{fmt.Sprintf("%s: this %s is not approved and does nothing; apply it again as a user with the rights that it needs, or have that user set this annotation to any value", annotation, e.Noun)}
}

// same reports whether obj does the same as old, and does not begin to act with this update.
func (e *Entitlement[T, P]) same(obj, old P) bool {
	return old != nil && !e.Starts(obj, old) && !e.commanded(obj, old) && e.Digest(obj) == e.Digest(old)
}

// commanded reports whether an annotation of Commands makes the operator act now.
func (e *Entitlement[T, P]) commanded(obj, old P) bool {
	for _, name := range e.Commands {
		if value := obj.GetAnnotations()[name]; value != "" && value != old.GetAnnotations()[name] {
			return true
		}
	}
	return false
}

// Stamp returns the annotation that holds an approval; "" removes the annotation.
func Stamp(approval string) map[string]string {
	return map[string]string{common.ApprovedByAnnotation: approval}
}

// Approval returns the approval of an object; "" where obj is nil.
func Approval[T any, P Object[T]](obj P) string {
	if obj == nil {
		return ""
	}
	return obj.GetAnnotations()[common.ApprovedByAnnotation]
}

// Unknown returns the error of a request if the rights of its writer cannot be reviewed.
func Unknown(req admission.Request, err error) error {
	return fmt.Errorf("cannot find out what user %s may do, so nothing is allowed: %w; try again", User(req), err)
}

// RetryLater returns an error after which clients retry by themselves.
func RetryLater(req admission.Request, err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusServiceUnavailable,
		Reason:  metav1.StatusReasonServiceUnavailable,
		Message: fmt.Sprintf("%s %s/%s: %v", strings.ToLower(req.Kind.Kind), req.Namespace, req.Name, err),
		Details: &metav1.StatusDetails{Group: req.Kind.Group, Kind: req.Resource.Resource, Name: req.Name, RetryAfterSeconds: 1},
	}}
}

// User returns the name of the writer for a message.
func User(req admission.Request) string { return fmt.Sprintf("%.256q", req.UserInfo.Username) }

// ErrUnsynced is the error of a request before the ranges of the cluster are known.
var ErrUnsynced = errors.New("the operator has not read yet which addresses are the cluster's; try again in a few seconds")
