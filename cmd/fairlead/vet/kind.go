// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	conversionofchaospod "github.com/fairlead-dev/fairlead/webhooks/conversion/chaospod"
	conversionofexternalservice "github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
	conversionofrebootpolicy "github.com/fairlead-dev/fairlead/webhooks/conversion/rebootpolicy"
)

// hub is the version at which objects are stored, and the rules written.
const hub = "v1"

// kind is all that decides about the objects of one kind.
type kind struct {
	schema.GroupKind
	plural string
	// definition compiles the CRD, which takes long enough to do it only for kinds that occur.
	definition func() (*crdschema.Kind, error)
	schemas    func() schemas
	converter  *hubspoke.Converter
	judge      func(raw []byte) (verdict, error)
	overlaps   overlapping
}

// verdict is what the webhooks say about an object at the hub version.
type verdict struct {
	object   any // a pointer to the type of the kind, with its defaults
	errors   field.ErrorList
	warnings []string
}

// typed are the webhooks' rules of a kind.
type typed[T any] struct {
	Default  func(obj *T)
	Validate func(obj, old *T) field.ErrorList
	Warnings func(obj, old *T) []string
}

// judge is what the webhooks do to an object that is created. The error is that of decoding.
func (t typed[T]) judge(raw []byte) (verdict, error) {
	obj := new(T)
	if err := jsonv2.Unmarshal(raw, obj); err != nil {
		return verdict{}, err
	}
	t.Default(obj)
	return verdict{obj, t.Validate(obj, nil), t.Warnings(obj, nil)}, nil
}

func kinds() []*kind {
	return []*kind{
		{
			GroupKind:  networkingv1.GroupVersion.WithKind("ExternalService").GroupKind(),
			plural:     "externalservices",
			definition: definition(networkingv1.GroupVersion.Group, "externalservices"),
			schemas:    schemasOf(networkingv1.GroupVersion.Group, "externalservices"),
			converter:  conversionofexternalservice.New(),
			judge:      typed[networkingv1.ExternalService]{externalservice.Default, externalservice.Validate, externalservice.Warnings}.judge,
		},
		{
			GroupKind:  autorebootv1.GroupVersion.WithKind("RebootPolicy").GroupKind(),
			plural:     "rebootpolicies",
			definition: definition(autorebootv1.GroupVersion.Group, "rebootpolicies"),
			schemas:    schemasOf(autorebootv1.GroupVersion.Group, "rebootpolicies"),
			converter:  conversionofrebootpolicy.New(),
			judge:      typed[autorebootv1.RebootPolicy]{rebootpolicy.Default, rebootpolicy.Validate, rebootpolicy.Warnings}.judge,
			overlaps:   overlapsOf(targetsOf, rebootpolicy.Overlaps),
		},
		{
			GroupKind:  chaosv1.GroupVersion.WithKind("ChaosPod").GroupKind(),
			plural:     "chaospods",
			definition: definition(chaosv1.GroupVersion.Group, "chaospods"),
			schemas:    schemasOf(chaosv1.GroupVersion.Group, "chaospods"),
			converter:  conversionofchaospod.New(),
			judge:      typed[chaosv1.ChaosPod]{chaospod.Default, chaospod.Validate, chaospod.Warnings}.judge,
			overlaps:   overlapsOf(workloadOf, chaospod.Overlaps),
		},
	}
}

func definition(group, plural string) func() (*crdschema.Kind, error) {
	return sync.OnceValues(func() (*crdschema.Kind, error) {
		text, err := crd.Definition(group, plural)
		if err != nil {
			return nil, err
		}
		compiled, err := crdschema.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("definition of %s.%s: %w", plural, group, err)
		}
		return compiled, nil
	})
}

func schemasOf(group, plural string) func() schemas {
	return sync.OnceValue(func() schemas {
		text, err := crd.Definition(group, plural)
		if err != nil {
			return nil
		}
		return readSchemas(text)
	})
}
