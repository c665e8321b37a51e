// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"context"
	"sort"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Objects are JSON data as k8s.io/apimachinery/pkg/util/json reads it: whole numbers are int64.
// With float64 in their place CEL refuses the object, as it would in the API server.

// Default sets the defaults of the version's schema, in place. An unknown version has none.
func (k *Kind) Default(version string, obj map[string]any) {
	if v, ok := k.versions[version]; ok {
		defaulting.Default(obj, v.structural)
	}
}

// Prune drops, in place, fields that the version's schema does not have, and returns their paths, sorted. It
// covers the object's own metadata and embedded metadata, where malformed fields are dropped too, and removes
// nulls that have neither meaning nor default; like the API server it does not report these. An unknown
// version leaves the object as it is.
func (k *Kind) Prune(version string, obj map[string]any) []string {
	v, ok := k.versions[version]
	if !ok {
		return nil
	}
	meta, found, dropped, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{
		DropMalformedFields:     true,
		ReturnUnknownFieldPaths: true,
	})
	if err != nil {
		// The metadata is not an object, which Validate reports.
		found, dropped = false, nil
	}
	dropped = append(dropped, pruning.PruneWithOptions(obj, v.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)

	// Where an embedded object's metadata is not an object at all, coercion stops there and
	// leaves it for Validate.
	_, embedded := objectmeta.CoerceWithOptions(nil, obj, v.structural, false, objectmeta.CoerceOptions{
		DropInvalidFields:       true,
		ReturnUnknownFieldPaths: true,
	})
	dropped = append(dropped, embedded...)
	if found {
		if err := objectmeta.SetObjectMeta(obj, meta); err != nil {
			return dropped
		}
	}
	sort.Strings(dropped)
	return dropped
}

// Validate validates obj at the version as the API server does on create or, where old is given, on an update
// from old: OpenAPI first, then embedded metadata, list types, and CEL unless an earlier error makes it
// unsafe. On an update transition rules run too, and an error on a part that is unchanged from old is ignored.
// The object's own name, apiVersion and kind are checked only by the schema and its CEL rules; obj should
// have its metadata, since rules at the root may read metadata.name.
func (k *Kind) Validate(ctx context.Context, version string, obj, old map[string]any) field.ErrorList {
	v, ok := k.versions[version]
	if !ok {
		return field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), k.groupKind.Group+"/"+version, k.names)}
	}
	if old == nil {
		errs := validation.ValidateCustomResource(nil, obj, v.openAPI)
		errs = append(errs, objectmeta.Validate(ctx, nil, obj, v.structural, false)...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
		return append(errs, v.rules(ctx, obj, nil, errs)...)
	}

	correlated := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: v.structural})
	errs := validation.ValidateCustomResourceUpdate(nil, obj, old, v.openAPI, validation.WithRatcheting(correlated))
	errs = append(errs, objectmeta.Validate(ctx, nil, obj, v.structural, false)...)
	if existing := listtype.ValidateListSetsAndMaps(nil, v.structural, old); len(existing) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
	}
	return append(errs, v.rules(ctx, obj, old, errs, cel.WithRatcheting(correlated))...)
}

// rules runs CEL, unless an earlier error leaves the cost of the rules or the types of their
// operands unbounded.
func (v *version) rules(ctx context.Context, obj, old map[string]any, before field.ErrorList, opts ...cel.Option) field.ErrorList {
	if v.cel == nil {
		return nil
	}
	for _, err := range before {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil,
				"some rules were not checked because the object is invalid; correct the other errors first")}
		}
	}
	// A nil map in an interface is not a nil interface: without this, every transition rule
	// would run against an empty old object on create.
	var previous any
	if old != nil {
		previous = old
	}
	errs, _ := v.cel.Validate(ctx, nil, v.structural, obj, previous, celconfig.RuntimeCELCostBudget, opts...)
	return errs
}
