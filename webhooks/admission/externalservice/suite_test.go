// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/admissiontest"
)

// Ann may publish addresses of the cluster and read Secrets, as bea, and eve may not.
const (
	ann = admissiontest.Ann
	bea = admissiontest.Bea
	eve = admissiontest.Eve

	outside = admissiontest.Outside
	inside  = admissiontest.Inside
	denied  = admissiontest.Denied
)

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

// isolation returns pods and NetworkPolicies, or an error.
type isolation struct {
	pods     []labels.Set
	more     bool
	policies []netv1.NetworkPolicy
	err      error
}

func (i *isolation) Pods(_ context.Context, _ string, selector labels.Selector) ([]labels.Set, bool, error) {
	return slices.DeleteFunc(slices.Clone(i.pods), func(pod labels.Set) bool { return !selector.Matches(pod) }), i.more, i.err
}

func (i *isolation) NetworkPolicies(context.Context, string) ([]netv1.NetworkPolicy, error) {
	return i.policies, i.err
}

// suite is an authorizer, and what it reads in a test.
type suite struct {
	*authorizer
	rights    *admissiontest.Reviewer
	services  *services
	isolation *isolation
}

func newSuite() *suite {
	s := &suite{rights: &admissiontest.Reviewer{}, services: &services{}, isolation: &isolation{}}
	s.authorizer = &authorizer{admissiontest.NewPolicy(), s.rights, s.services, s.isolation}
	return s
}

func request(user string, update bool) admission.Request {
	return admissiontest.Request(user, networkingv1.GroupVersion.WithKind("ExternalService"), "externalservices", "db", update)
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

func (s *suite) admit(t *testing.T, req admission.Request, obj, old *networkingv1.ExternalService, others func(*networkingv1.ExternalService)) (*networkingv1.ExternalService, []string, field.ErrorList, error) {
	t.Helper()
	return admissiontest.Admit(t, s.authorizer, req, obj, old, others)
}
