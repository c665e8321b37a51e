// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// maxIdentity bounds each part of what identifies an object, in bytes. It is what the API server allows
// for a name.
const maxIdentity = 253

// Failure is an object that could not be converted, as far as it can be read. All of it is the
// sender's word.
type Failure struct {
	// APIVersion and Kind are those of the object, Desired is the version of the request, with the
	// group.
	APIVersion, Kind, Desired string
	// Namespace, Name and UID are those of the object.
	Namespace, Name, UID string
}

// identity is what identifies an object.
type identity struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct{ Namespace, Name, UID string } `json:"metadata"`
}

// identify reads what identifies an object, as far as it can be read.
func identify(object runtime.RawExtension) (is identity) {
	_ = json.Unmarshal(object.Raw, &is) // a part of another type is left out, and the others are read all the same
	return is
}

// failure returns who failed. It holds nothing of the object's content.
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

// label names the object in a message.
func (i identity) label() string { return review.Label(i.Metadata.Namespace, i.Metadata.Name) }
