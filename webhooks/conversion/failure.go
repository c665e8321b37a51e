// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// maxIdentity bounds each part of what identifies an object, in bytes. It is what the API server allows
// for a name.
const maxIdentity = 253

// Failure is an object that could not be converted, as far as it says what it is. All of it is the
// sender's word.
type Failure struct {
	// APIVersion and Kind are those of the object, Desired is the version that was asked for, with the
	// group.
	APIVersion, Kind, Desired string
	// Namespace, Name and UID are those of the object.
	Namespace, Name, UID string
}

// failureOf reads who failed. It holds nothing of the object's content, and nothing of the review.
func failureOf(object wire.Value, desired string) Failure {
	metadata := object.Field("metadata")
	f := Failure{
		APIVersion: wire.Said(object.Field("apiVersion")), Kind: wire.Said(object.Field("kind")), Desired: desired,
		Namespace: wire.Said(metadata.Field("namespace")), Name: wire.Said(metadata.Field("name")), UID: wire.Said(metadata.Field("uid")),
	}
	for _, part := range []*string{&f.APIVersion, &f.Kind, &f.Desired, &f.Namespace, &f.Name, &f.UID} {
		*part = strings.Clone(wire.Cut(*part, maxIdentity)) // the texts of a document share memory
	}
	return f
}

// labelOf names an object in a message.
func labelOf(object wire.Value) string {
	metadata := object.Field("metadata")
	return wire.Label(wire.Said(metadata.Field("namespace")), wire.Said(metadata.Field("name")))
}
