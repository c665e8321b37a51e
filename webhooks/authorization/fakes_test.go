// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// Ann may publish addresses of the cluster and read Secrets, eve may not.
const (
	ann = "ann"
	bea = "bea" // as ann
	eve = "eve"
)

// rights decides by the user, and counts the questions.
type rights struct {
	mu        sync.Mutex
	questions []authorizationv1.ResourceAttributes
	users     []authenticationv1.UserInfo
	err       error
}

func (r *rights) Allowed(_ context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.questions, r.users = append(r.questions, what), append(r.users, user)
	return user.Username != eve, r.err
}

// services returns one Service, or an error.
type services struct {
	service *corev1.Service
	err     error
}

func (s *services) Service(_ context.Context, namespace, name string) (*corev1.Service, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case s.service == nil || s.service.Name != name || s.service.Namespace != namespace:
		return nil, apierrors.NewNotFound(corev1.Resource("services"), name)
	}
	return s.service, nil
}

// waiting is a policy that has not synced.
type waiting struct{ *egress.Policy }

func (waiting) Synced() bool { return false }

// scene is what stands around the authorization in a test.
type scene struct {
	*ExternalService
	rights   *rights
	services *services
}

// newScene has 10.0.0.0/24 as the cluster, and 198.51.100.0/24 denied.
func newScene() *scene {
	s := &scene{rights: &rights{}, services: &services{}}
	s.ExternalService = NewExternalService(Options{
		Policy: egress.NewPolicy(egress.Options{
			ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")},
			Deny:         []egress.Rule{{CIDRs: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}},
		}),
		Reviewer: s.rights, Services: s.services,
	})
	return s
}

func request(user string, update bool) admission.Request {
	req := admission.Request{
		Kind:     networkingv1.GroupVersion.WithKind("ExternalService"),
		Resource: schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1", Resource: "externalservices"},
		Name:     "db", Namespace: "shop", Operation: admissionv1.Create,
		User: authenticationv1.UserInfo{Username: user, UID: "7", Groups: []string{"staff"}, Extra: map[string]authenticationv1.ExtraValue{"scope": {"all"}}},
	}
	if update {
		req.Operation = admissionv1.Update
	}
	return req
}

// with is an object with static addresses.
func with(addresses ...networkingv1.IPAddress) *networkingv1.ExternalService {
	es := &networkingv1.ExternalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "u-1"},
		Spec: networkingv1.ExternalServiceSpec{
			Ports:     []networkingv1.ServicePort{{Name: "sql", Port: 5432}},
			Endpoints: []networkingv1.Endpoint{{Name: "name", DNS: &networkingv1.DNSName{Name: "db.example.com"}}},
		},
	}
	if len(addresses) > 0 {
		es.Spec.Endpoints = append(es.Spec.Endpoints, networkingv1.Endpoint{Name: "fixed", Addresses: addresses})
	}
	return es
}

func approvedBy(user string, es *networkingv1.ExternalService) *networkingv1.ExternalService {
	return claiming(egress.Approval(es, user), es)
}

func stripped(es *networkingv1.ExternalService) { delete(es.Annotations, common.ApprovedByAnnotation) }

func claiming(value string, es *networkingv1.ExternalService) *networkingv1.ExternalService {
	es.Annotations = map[string]string{common.ApprovedByAnnotation: value}
	return es
}

func (s *scene) admit(t *testing.T, req admission.Request, obj, old *networkingv1.ExternalService, others func(*networkingv1.ExternalService)) (*networkingv1.ExternalService, []string, field.ErrorList, error) {
	t.Helper()
	return admit(t, s.ExternalService, req, obj, old, others)
}

// authorizer is the authorization of a kind.
type authorizer[P any] interface {
	Stamp(ctx context.Context, req admission.Request, obj, old P) (map[string]string, error)
	Validate(ctx context.Context, req admission.Request, obj, old P) ([]string, field.ErrorList)
}

// admit does what the API server does with a write: it has it mutated, lets the webhooks of others
// at it, and has it validated. It returns the object as it would be stored.
func admit[T any, P interface {
	*T
	metav1.Object
	DeepCopy() P
}](t *testing.T, by authorizer[P], req admission.Request, obj, old P, others func(P)) (P, []string, field.ErrorList, error) {
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
	if approvalOf[T](obj) != approvalOf[T](before) {
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
