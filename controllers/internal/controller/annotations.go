// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// AnnotationValues returns the values of some annotations, "" for one that is absent.
func AnnotationValues(object client.Object, names []string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = object.GetAnnotations()[name]
	}
	return values
}

// AnnotationsChanged passes updates that change one of some annotations: these are no part of the generation.
func AnnotationsChanged[T client.Object](names []string) predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
		return !slices.Equal(AnnotationValues(e.ObjectOld, names), AnnotationValues(e.ObjectNew, names))
	}}
}
