// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

var errUnsynced = errors.New("the operator has not read yet which addresses are the cluster's; try again in a few seconds")

// unanswered words a review that failed.
func unanswered(req admission.Request, err error) error {
	return fmt.Errorf("cannot find out what user %s may do, so nothing is allowed: %w; try again", user(req), err)
}

// user is the writer's name for a message.
func user(req admission.Request) string { return fmt.Sprintf("%.256q", req.User.Username) }

// publishing is what a user needs to be allowed who publishes an address of the cluster: with these
// rights, the user could do so without Fairlead.
func publishing(namespace string) []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Namespace: namespace, Verb: "create", Version: "v1", Resource: "services"},
		{Namespace: namespace, Verb: "create", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	}
}

// lacking returns the resources that the writer may not create, and so must not have created.
func (a *ExternalService) lacking(ctx context.Context, req admission.Request) ([]string, error) {
	var lacking []string
	for _, right := range publishing(req.Namespace) {
		allowed, err := a.options.Reviewer.Allowed(ctx, req.User, right)
		if err != nil {
			return nil, err
		}
		if !allowed {
			name := right.Resource
			if right.Group != "" {
				name += "." + right.Group
			}
			lacking = append(lacking, name)
		}
	}
	return lacking, nil
}

// secret demands the right to get the Secret of the health check: the operator reads it for the
// writer, and tells by a check's result what is in it.
func (a *ExternalService) secret(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) field.ErrorList {
	name := caSecret(obj)
	if name == "" || old != nil && caSecret(old) == name && !resumed(obj, old) {
		return nil
	}
	path := field.NewPath("spec", "healthCheck", "tls", "caSecretName")
	allowed, err := a.options.Reviewer.Allowed(ctx, req.User, authorizationv1.ResourceAttributes{
		Namespace: req.Namespace, Verb: "get", Version: "v1", Resource: "secrets", Name: name,
	})
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, unanswered(req, err))}
	case !allowed:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"user %s may not get the Secret %q in namespace %q, which the operator would read; ask for the right to get it, or leave caSecretName out",
			user(req), name, req.Namespace))}
	}
	return nil
}

// adoption demands the right to update the Service that the object asks to take over.
func (a *ExternalService) adoption(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) field.ErrorList {
	if !rules.Adopts(obj) || old != nil && rules.Adopts(old) && !resumed(obj, old) {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(networkingv1.AdoptServiceAnnotation)
	if obj.Name == "" {
		return field.ErrorList{field.Forbidden(path, "the Service to take over has a name, so that this object needs one instead of generateName")}
	}
	allowed, err := a.options.Reviewer.Allowed(ctx, req.User, authorizationv1.ResourceAttributes{
		Namespace: req.Namespace, Verb: "update", Version: "v1", Resource: "services", Name: obj.Name,
	})
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, unanswered(req, err))}
	case !allowed:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"user %s may not update the Service %q in namespace %q, which the operator would take over; ask for the right to update it, or leave the annotation out",
			user(req), obj.Name, req.Namespace))}
	}
	return nil
}

// fault demands the right to update EndpointSlices, which is what an injected fault amounts to. To end one
// takes no right.
func (a *ExternalService) fault(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) field.ErrorList {
	asked := obj.Annotations[networkingv1.InjectFaultAnnotation]
	if asked == "" || old != nil && old.Annotations[networkingv1.InjectFaultAnnotation] == asked {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(networkingv1.InjectFaultAnnotation)
	allowed, err := a.options.Reviewer.Allowed(ctx, req.User, authorizationv1.ResourceAttributes{
		Namespace: req.Namespace, Verb: "update", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices",
	})
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, unanswered(req, err))}
	case !allowed:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"user %s may not update endpointslices.discovery.k8s.io in namespace %q, which the operator would do to inject the fault; ask for that right, or leave the annotation out",
			user(req), req.Namespace))}
	}
	return nil
}

func caSecret(es *networkingv1.ExternalService) string {
	if h := es.Spec.HealthCheck; h != nil && h.TLS != nil {
		return h.TLS.CASecretName
	}
	return ""
}
