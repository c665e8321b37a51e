// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// maxIdentity bounds each part of an identity, in bytes. The API server allows as much for a name.
const maxIdentity = 253

// Failure identifies an object that could not be converted, as far as its identity can be read. All fields come from
// the sender.
type Failure struct {
	// APIVersion and Kind are those of the object. Desired is the requested apiVersion.
	APIVersion, Kind, Desired string
	// Namespace, Name and UID are those of the object.
	Namespace, Name, UID string
}

// identity holds the fields that identify an object.
type identity struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct{ Namespace, Name, UID string } `json:"metadata"`
}

// identify reads the identity of an object as far as possible.
func identify(object runtime.RawExtension) (is identity) {
	_ = json.Unmarshal(object.Raw, &is) // a field of the wrong type stays empty, and the others are read
	return is
}

// failure returns the Failure of the object. It has nothing of the object's content.
func (i identity) failure(desired string) Failure {
	f := Failure{
		APIVersion: i.APIVersion, Kind: i.Kind, Desired: desired,
		Namespace: i.Metadata.Namespace, Name: i.Metadata.Name, UID: i.Metadata.UID,
	}
	for _, part := range []*string{&f.APIVersion, &f.Kind, &f.Desired, &f.Namespace, &f.Name, &f.UID} {
		*part = review.Cut(*part, maxIdentity)
	}
	return f
}

// label returns the name of the object for a message.
func (i identity) label() string { return review.Label(i.Metadata.Namespace, i.Metadata.Name) }
