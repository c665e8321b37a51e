// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
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

// failureOf reads who failed. It holds nothing of the object's content, and nothing of the review.
func failureOf(object jsonindex.Value, desired string) Failure {
	metadata := object.Field("metadata")
	f := Failure{
		APIVersion: object.Field("apiVersion").TextOrEmpty(), Kind: object.Field("kind").TextOrEmpty(), Desired: desired,
		Namespace: metadata.Field("namespace").TextOrEmpty(), Name: metadata.Field("name").TextOrEmpty(),
		UID: metadata.Field("uid").TextOrEmpty(),
	}
	for _, part := range []*string{&f.APIVersion, &f.Kind, &f.Desired, &f.Namespace, &f.Name, &f.UID} {
		*part = strings.Clone(review.Cut(*part, maxIdentity)) // the texts of a document share memory
	}
	return f
}

// labelOf names an object in a message.
func labelOf(object jsonindex.Value) string {
	metadata := object.Field("metadata")
	return review.Label(metadata.Field("namespace").TextOrEmpty(), metadata.Field("name").TextOrEmpty())
}
