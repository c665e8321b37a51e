// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// object is a pointer to T that has metadata.
type object[T any] interface {
	*T
	metav1.Object
}

// entitlement decides about the approvals of one kind.
type entitlement[T any, P object[T]] struct {
	reviewer Reviewer
	// kind in a message, such as "policy".
	kind string
	// needs are what a writer of the object must be entitled to.
	needs func(obj P, namespace string) []need
	// digest names what an approval covers.
	digest func(obj P) string
	// wakes says whether obj begins to act with this update of old: from now on things are done for it
	// that were only thought of, or it is told to do something now.
	wakes func(obj, old P) bool
}

// stamp decides the annotation that says who was entitled to what obj does. A writer who leaves that as
// it is keeps the approval that is there. One that does not cover the spec, such as an earlier version
// of Fairlead wrote it, is renewed by the next write of an entitled user. Where there is none, a user
// who leaves the spec as it is approves it only by asking to, with any value of that annotation:
// controllers with many rights write objects too, such as to take a finalizer away, and mean nothing
// by it.
func (e *entitlement[T, P]) stamp(ctx context.Context, req admission.Request, obj, old P) (map[string]string, error) {
	stamp := func(value string) (map[string]string, error) {
		return map[string]string{common.ApprovedByAnnotation: value}, nil
	}
	given, stood := approvalOf[T](obj), approvalOf[T](old)
	same := e.same(obj, old)
	switch {
	case req.SubResource != "":
		return nil, nil
	case obj.GetDeletionTimestamp() != nil, same && approval.Covers(stood, e.digest(old)):
		return stamp(stood)
	case same && stood == "" && given == "":
		return stamp("")
	}
	lacking, err := e.lacking(ctx, req, obj)
	switch {
	case same && given == stood && (err != nil || len(lacking) > 0):
		return stamp(stood) // it covers nothing, and says that a user was entitled to an earlier form
	case errors.As(err, new(tooMany)): // Validate says so
		return stamp("")
	case err != nil:
		return nil, later(req, unanswered(req, err))
	case len(lacking) > 0: // Validate says so, right by right
		return stamp("")
	}
	return stamp(approval.Value(req.User.Username, e.digest(obj)))
}

// rights refuses what takes rights that the writer lacks, all of it at once, and an approval that is
// not deserved. Mutating webhooks of others ran after ours, so the approval is worth here only what
// can be seen to be true: it is the one that stood, or it is the writer's, who has the rights.
func (e *entitlement[T, P]) rights(ctx context.Context, req admission.Request, obj, old P) ([]string, field.ErrorList) {
	annotation := field.NewPath("metadata", "annotations").Key(common.ApprovedByAnnotation)
	given := approvalOf[T](obj)
	claimed := given != "" && given != approvalOf[T](old)
	if e.same(obj, old) && !claimed {
		return e.unapproved(annotation, obj), nil
	}
	lacking, err := e.lacking(ctx, req, obj)
	var excess tooMany
	switch {
	case errors.As(err, &excess):
		return nil, field.ErrorList{field.Forbidden(field.NewPath("spec"), excess.Error())}
	case err != nil:
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec"), unanswered(req, err))}
	case len(lacking) == 0 && given != approval.Value(req.User.Username, e.digest(obj)):
		return nil, field.ErrorList{field.Forbidden(annotation,
			"is not as Fairlead set it: another admission webhook has changed the object, or rights have just changed; try again")}
	}
	var errs field.ErrorList
	for _, n := range lacking {
		errs = append(errs, n.refusal(user(req)))
	}
	return nil, errs
}

// lacking returns the first need of each right that the writer lacks.
func (e *entitlement[T, P]) lacking(ctx context.Context, req admission.Request, obj P) ([]need, error) {
	all := e.needs(obj, req.Namespace)
	rights := make([]authorizationv1.ResourceAttributes, len(all))
	first := make(map[authorizationv1.ResourceAttributes]need, len(all))
	for i, n := range all {
		rights[i] = n.right
		if _, has := first[n.right]; !has {
			first[n.right] = n
		}
	}
	missing, err := review(ctx, e.reviewer, req.User, rights)
	if err != nil {
		return nil, err
	}
	var lacking []need
	for _, right := range missing {
		lacking = append(lacking, first[right])
	}
	return lacking, nil
}

// unapproved warns of an object that does nothing: it was stored without an approval, or changed
// where the webhook was not called.
func (e *entitlement[T, P]) unapproved(annotation *field.Path, obj P) []string {
	if approval.Covers(approvalOf[T](obj), e.digest(obj)) {
		return nil
	}
	return []string{fmt.Sprintf("%s: it is not known whether the writer of this %s has the rights to what it does, so it does nothing; a user with these rights must write it, or set this annotation to any value, and Fairlead puts the approval there", annotation, e.kind)}
}

// same says whether obj does what old does, and does not begin to act with this update.
func (e *entitlement[T, P]) same(obj, old P) bool {
	return old != nil && !e.wakes(obj, old) && e.digest(obj) == e.digest(old)
}

// unset says whether a field that was true is not any more.
func unset(before, after *bool) bool { return before != nil && *before && (after == nil || !*after) }

// asks says whether an annotation has a value that it did not have.
func asks(obj, old metav1.Object, names ...string) bool {
	for _, name := range names {
		if value := obj.GetAnnotations()[name]; value != "" && value != old.GetAnnotations()[name] {
			return true
		}
	}
	return false
}
