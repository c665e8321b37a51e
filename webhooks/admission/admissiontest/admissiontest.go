// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admissiontest holds what the tests of admission share. Only tests import it.
package admissiontest

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// The users of the tests. A Reviewer allows Ann and Bea everything, and Eve nothing.
const (
	Ann = "ann"
	Bea = "bea"
	Eve = "eve"
)

// Addresses for the policy of NewPolicy.
const (
	Outside = "192.0.2.1"
	Inside  = "10.0.0.11"
	Denied  = "198.51.100.1"
)

// NewPolicy returns an egress policy with 10.0.0.0/24 as the cluster, which denies 198.51.100.0/24.
func NewPolicy() *egress.Policy {
	return egress.NewPolicy(egress.Options{
		ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")},
		Deny:         []egress.Rule{{CIDRs: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}},
	})
}

// Unsynced is an egress policy that does not know the ranges of the cluster yet.
type Unsynced struct{ *egress.Policy }

// Synced returns false.
func (Unsynced) Synced() bool { return false }

// Reviewer records the rights that are reviewed.
type Reviewer struct {
	mu sync.Mutex
	// Rights and Users have an item for each call.
	Rights []authorizationv1.ResourceAttributes
	Users  []authenticationv1.UserInfo
	// Err is returned by all calls.
	Err error
	// Denied lists the rights that each user lacks, in the words of Phrase. Defaults to all rights for Eve, and none for
	// others.
	Denied map[string][]string
}

var _ authorization.Reviewer = (*Reviewer)(nil)

// Allowed implements authorization.Reviewer.
func (r *Reviewer) Allowed(_ context.Context, user authenticationv1.UserInfo, right authorizationv1.ResourceAttributes) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Rights, r.Users = append(r.Rights, right), append(r.Users, user)
	if r.Denied == nil {
		return user.Username != Eve, r.Err
	}
	return !slices.Contains(r.Denied[user.Username], Phrase(right)), r.Err
}

// Phrase returns a right in words: verb, resource, and the name if there is one.
func Phrase(r authorizationv1.ResourceAttributes) string {
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// Request returns a request of a user in the namespace shop.
func Request(user string, kind schema.GroupVersionKind, resource, name string, update bool) admission.Request {
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind:     metav1.GroupVersionKind(kind),
		Resource: metav1.GroupVersionResource(kind.GroupVersion().WithResource(resource)),
		Name:     name, Namespace: "shop", Operation: admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{Username: user, UID: "7", Groups: []string{"staff"},
			Extra: map[string]authenticationv1.ExtraValue{"scope": {"all"}}},
	}}
	if update {
		req.Operation = admissionv1.Update
	}
	return req
}

// Authorizer is the authorization of the objects of a kind.
type Authorizer[P any] interface {
	Stamp(ctx context.Context, req admission.Request, obj, old P) (map[string]string, error)
	Validate(ctx context.Context, req admission.Request, obj, old P) ([]string, field.ErrorList)
}

// Admit mutates and validates an object as the API server does on a write. Between the two it calls the webhooks of
// others. It returns the object as it would be stored.
func Admit[T any, P interface {
	*T
	metav1.Object
	DeepCopy() P
}](t *testing.T, by Authorizer[P], req admission.Request, obj, old P, others func(P)) (P, []string, field.ErrorList, error) {
	t.Helper()
	obj = obj.DeepCopy()
	before := obj.DeepCopy()
	stamps, err := by.Stamp(t.Context(), req, obj, old)
	if err != nil {
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			t.Errorf("the error is no API status: %v", err)
		}
		return nil, nil, nil, err
	}
	if authorization.Approval[T](obj) != authorization.Approval[T](before) {
		t.Error("Stamp changed the object itself")
	}
	annotations := obj.GetAnnotations()
	for name, value := range stamps {
		if annotations == nil {
			annotations = map[string]string{}
		}
		if annotations[name] = value; value == "" {
			delete(annotations, name)
		}
	}
	obj.SetAnnotations(annotations)
	if others != nil {
		others(obj)
	}
	warnings, errs := by.Validate(t.Context(), req, obj, old)
	return obj, warnings, errs, nil
}
