// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
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
func failureOf(object []byte, desired string) Failure {
	header := wire.Identify(object)
	f := Failure{
		APIVersion: header.APIVersion, Kind: header.Kind, Desired: desired,
		Namespace: header.Namespace, Name: header.Name,
	}
	for name, value := range wire.Fields(object) {
		if string(name) != "metadata" {
			continue
		}
		for name, value := range wire.Fields(value) {
			if string(name) == "uid" {
				f.UID, _ = wire.Text(value)
			}
		}
	}
	for _, part := range []*string{&f.APIVersion, &f.Kind, &f.Desired, &f.Namespace, &f.Name, &f.UID} {
		*part = wire.Cut(*part, maxIdentity)
	}
	return f
}
