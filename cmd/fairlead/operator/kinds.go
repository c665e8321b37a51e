// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/lifecycle"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	admitchaospod "github.com/fairlead-dev/fairlead/webhooks/admission/chaospod"
	admitexternalservice "github.com/fairlead-dev/fairlead/webhooks/admission/externalservice"
	admitrebootpolicy "github.com/fairlead-dev/fairlead/webhooks/admission/rebootpolicy"
	convertchaospod "github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	convertexternalservice "github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	convertrebootpolicy "github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

// kind is one of the operator's kinds, with what each part of the operator has for it.
type kind struct {
	schema.GroupVersionKind // of the version that is stored

	definition string        // the name of its CRD
	object     client.Object // empty, at the version that is stored
	types      []func(*runtime.Scheme) error

	converter func() *hubspoke.Converter
	// admit returns the webhooks of admission by path.
	admit func(common admission.Options, converter *hubspoke.Converter, r reviews) map[string]http.Handler
	// warns is whether admission warns from what is stored of the kind. It is cached on every replica then, at the version that
	// is stored, which needs no conversion.
	warns bool

	controller func(b *controllerBuilder, ctx context.Context) (lifecycle.Reconciler, error)
	// restore restores the claims of its objects in the ledger; nil where it has none.
	restore func(ctx context.Context, from client.Reader, ledger *disruption.Ledger, among ...client.ListOption) error
}

// kinds returns the operator's kinds. What is not named here has no CRD, webhook, cache or controller.
func kinds() []kind {
	return []kind{
		{
			GroupVersionKind: networkingv1.GroupVersion.WithKind("ExternalService"),
			definition:       "externalservices.networking.fairlead.dev",
			object:           &networkingv1.ExternalService{},
			types:            []func(*runtime.Scheme) error{networkingv1.AddToScheme, networkingv1alpha1.AddToScheme},
			converter:        convertexternalservice.New,
			admit: func(common admission.Options, converter *hubspoke.Converter, r reviews) map[string]http.Handler {
				return admitexternalservice.New(admitexternalservice.Options{
					Handler: common, Converter: converter, Policy: r.policy, Reviewer: r.reviewer, Services: r.services, Finalize: r.finalize,
				})
			},
			controller: (*controllerBuilder).externalServices,
		},
		{
			GroupVersionKind: autorebootv1.GroupVersion.WithKind("RebootPolicy"),
			definition:       "rebootpolicies.autoreboot.fairlead.dev",
			object:           &autorebootv1.RebootPolicy{},
			types:            []func(*runtime.Scheme) error{autorebootv1.AddToScheme, autorebootv1alpha1.AddToScheme},
			converter:        convertrebootpolicy.New,
			admit: func(common admission.Options, converter *hubspoke.Converter, r reviews) map[string]http.Handler {
				return admitrebootpolicy.New(admitrebootpolicy.Options{
					Handler: common, Converter: converter, Policy: r.policy, Reviewer: r.reviewer, Warnings: r.warnings,
				})
			},
			warns:      true,
			controller: (*controllerBuilder).rebootPolicies,
			restore:    rebootpolicy.Restore,
		},
		{
			GroupVersionKind: chaosv1.GroupVersion.WithKind("ChaosPod"),
			definition:       "chaospods.chaos.fairlead.dev",
			object:           &chaosv1.ChaosPod{},
			types:            []func(*runtime.Scheme) error{chaosv1.AddToScheme, chaosv1alpha1.AddToScheme},
			converter:        convertchaospod.New,
			admit: func(common admission.Options, converter *hubspoke.Converter, r reviews) map[string]http.Handler {
				return admitchaospod.New(admitchaospod.Options{Handler: common, Converter: converter, Reviewer: r.reviewer, Warnings: r.warnings})
			},
			warns:      true,
			controller: (*controllerBuilder).chaosPods,
			restore:    chaospod.Restore,
		},
	}
}

// NewScheme returns a scheme of the types of Kubernetes and of every version of ours.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{clientscheme.AddToScheme}
	for _, kind := range kinds() {
		add = append(add, kind.types...)
	}
	for _, add := range add {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	return scheme, nil
}

// ownKinds returns the kinds at the version that is stored.
func ownKinds() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, kind := range kinds() {
		all = append(all, kind.GroupVersionKind)
	}
	return all
}

// admissionKinds returns the kinds that validators read from the cache.
func admissionKinds() []client.Object {
	var all []client.Object
	for _, kind := range kinds() {
		if kind.warns {
			all = append(all, kind.object)
		}
	}
	return all
}

// crdNames returns the names of the operator's own CRDs.
func crdNames() []string {
	var all []string
	for _, kind := range kinds() {
		all = append(all, kind.definition)
	}
	return all
}
