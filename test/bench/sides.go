// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	stockadmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	stockconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

// side is one contestant: its three handlers for ExternalService.
type side struct {
	convert  http.Handler
	mutate   http.Handler
	validate http.Handler
}

var kind = v1.GroupVersion.WithKind("ExternalService")

// fairlead is the side that this repository ships, its metrics on.
func fairlead() side {
	metrics := prometheus.NewRegistry()
	admits := admission.Handlers(admission.Options{Kind: kind, Registerer: metrics},
		admission.Mutator[*v1.ExternalService]{Default: rules.Default},
		admission.Validator[*v1.ExternalService]{
			Validate: func(_ context.Context, _ admission.Request, obj, old *v1.ExternalService) ([]string, field.ErrorList) {
				return rules.Warnings(obj, old), rules.Validate(obj, old)
			},
		})
	return side{
		convert:  conversion.NewHandler(conversion.Options{Kinds: []schema.GroupKind{kind.GroupKind()}, Registerer: metrics}),
		mutate:   admits[admission.MutatePath(kind)],
		validate: admits[admission.ValidatePath(kind)],
	}
}

// stock returns the side that one writes with controller-runtime: the same rules and the same mappings in its handlers.
func stock() (side, error) {
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return side{}, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return side{}, err
	}
	converter, err := stockconversion.NewHubSpokeConverter(&v1.ExternalService{},
		stockconversion.NewSpokeConverter(&v1alpha1.ExternalService{},
			func(_ context.Context, src *v1.ExternalService, dst *v1alpha1.ExternalService) error {
				dst.ObjectMeta = src.ObjectMeta
				dst.Spec, dst.Status = view(src), src.Status
				return nil
			},
			func(_ context.Context, src *v1alpha1.ExternalService, dst *v1.ExternalService) error {
				dst.ObjectMeta = src.ObjectMeta
				dst.Spec, dst.Status = atHub(src), src.Status
				return nil
			}))(scheme)
	if err != nil {
		return side{}, err
	}
	registry := stockconversion.NewRegistry()
	if err := registry.RegisterConverter(kind.GroupKind(), converter); err != nil {
		return side{}, err
	}
	return side{
		convert:  stockconversion.NewWebhookHandler(scheme, registry),
		mutate:   stockadmission.WithDefaulter(scheme, stockRules{}),
		validate: stockadmission.WithValidator(scheme, stockRules{}),
	}, nil
}

// stockRules are the kind's rules behind controller-runtime's interfaces.
type stockRules struct{}

var (
	_ stockadmission.Defaulter[*v1.ExternalService] = stockRules{}
	_ stockadmission.Validator[*v1.ExternalService] = stockRules{}
)

func (stockRules) Default(_ context.Context, obj *v1.ExternalService) error {
	rules.Default(obj)
	return nil
}

func (stockRules) ValidateCreate(_ context.Context, obj *v1.ExternalService) (stockadmission.Warnings, error) {
	return check(obj, nil)
}

func (stockRules) ValidateUpdate(_ context.Context, old, obj *v1.ExternalService) (stockadmission.Warnings, error) {
	return check(obj, old)
}

func (stockRules) ValidateDelete(context.Context, *v1.ExternalService) (stockadmission.Warnings, error) {
	return nil, nil
}

func check(obj, old *v1.ExternalService) (stockadmission.Warnings, error) {
	warnings := rules.Warnings(obj, old)
	if errs := rules.Validate(obj, old); len(errs) > 0 {
		return warnings, apierrors.NewInvalid(kind.GroupKind(), obj.Name, errs)
	}
	return warnings, nil
}
