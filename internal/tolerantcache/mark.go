// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// faultAnnotation is an annotation, in memory alone, that says what is wrong. An annotation goes wherever the
// object is copied to. No API server admits a name with two slashes, so it is never set on a good object.
const faultAnnotation = "fairlead.dev/in-memory/undecodable"

// faultGeneration is the generation of marked objects: one that is mended has another, also where it
// was mended past the API server, which counts generations.
const faultGeneration = -1

// Remedy is what finds and names everything that is wrong with what is stored.
const Remedy = "kubectl fairlead vet --cluster"

// Fault returns what does not decode in an object that an informer of this package delivered, and ""
// where all of it did.
func Fault(object metav1.Object) string { return object.GetAnnotations()[faultAnnotation] }

func setFault(object metav1.Object, fault string) {
	annotations := make(map[string]string, len(object.GetAnnotations())+1)
	for name, value := range object.GetAnnotations() {
		annotations[name] = value
	}
	annotations[faultAnnotation] = fault
	object.SetAnnotations(annotations)
	object.SetGeneration(faultGeneration)
}

// UndecodableError is what a reader is told instead of being given an object that did not decode.
type UndecodableError struct {
	// Kind and Key name the object.
	Kind string
	Key  types.NamespacedName
	// Fault is the path of what does not decode, and what stands there.
	Fault string
}

func (e *UndecodableError) Error() string {
	return fmt.Sprintf("%s %s cannot be decoded: %s; `%s` names what to mend", e.Kind, e.Key, e.Fault, Remedy)
}
