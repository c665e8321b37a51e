// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// ServiceReader reads any Service.
type ServiceReader interface {
	// Service returns a NotFound error if there is no such Service.
	Service(ctx context.Context, namespace, name string) (*corev1.Service, error)
}

// serviceTimeout bounds the read of a Service.
const serviceTimeout = time.Second

type serviceReader struct{ client kubernetes.Interface }

// NewServiceReader returns a reader of the API server: the operator's cache holds only its own Services.
func NewServiceReader(client kubernetes.Interface) ServiceReader { return serviceReader{client} }

func (r serviceReader) Service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	return r.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
}

// service refuses to create an object whose Service has another owner. For an update it only warns, since names do not
// change. If the Service cannot be read, it warns as well: the reconciler never takes over a foreign Service, whatever
// admission decides.
func (a *authorizer) service(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) (string, field.ErrorList) {
	if obj.Name == "" || old != nil && old.Status.ServiceRef != nil {
		return "", nil
	}
	service, err := a.services.Service(ctx, req.Namespace, obj.Name)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return fmt.Sprintf("metadata.name: whether a Service %q exists already could not be found out: %v", obj.Name, err), nil
	case obj.UID != "" && rules.BelongsTo(service, obj), rules.Adopts(obj) && rules.IsOrphan(service):
		return "", nil
	case rules.IsAbandoned(service, obj):
		return a.abandoned(ctx, req, obj, old)
	case !service.DeletionTimestamp.IsZero() || ofEarlier(service, obj):
		return fmt.Sprintf("metadata.name: a Service %q from before is still being removed; this object is published once it is gone", obj.Name), nil
	}
	remedy := "choose another name, or delete that Service first"
	if rules.IsOrphan(service) {
		remedy = fmt.Sprintf("an earlier ExternalService has left it: annotate this one with %s: \"true\" to take it over, %s", networkingv1.AdoptServiceAnnotation, remedy)
	}
	detail := fmt.Sprintf("a Service %q exists in namespace %q that is not this object's, and is left alone; %s", obj.Name, req.Namespace, remedy)
	if old != nil {
		return "metadata.name: " + detail, nil
	}
	return "", field.ErrorList{field.Forbidden(field.NewPath("metadata", "name"), detail)}
}

// abandoned requires the right to update a Service that an ExternalService of this name left without orphaning it. Such
// a Service may have been restored from a backup before the object. The reconciler takes it over.
func (a *authorizer) abandoned(
	ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService,
) (string, field.ErrorList) {
	if old != nil {
		return "", nil
	}
	return "", a.require(ctx, req, field.NewPath("metadata", "name"), updateService(req, obj),
		fmt.Sprintf("update the Service %q in namespace %q, which an earlier object of this name has left and the operator would take over; ask for the right to update it, choose another name, or delete that Service first", obj.Name, req.Namespace))
}

// ofEarlier reports whether a Service belongs to a deleted object of the same name, so that the garbage collector is
// about to delete it.
func ofEarlier(service *corev1.Service, obj *networkingv1.ExternalService) bool {
	owner := metav1.GetControllerOf(service)
	return owner != nil && owner.Kind == "ExternalService" && owner.Name == obj.Name &&
		(owner.APIVersion == networkingv1.GroupVersion.String() || owner.APIVersion == networkingv1.GroupVersion.Group+"/v1alpha1")
}
