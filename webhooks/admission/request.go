// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// Request is what a review says beside the objects.
type Request struct {
	UID types.UID
	// Kind is the version that the objects have here.
	Kind schema.GroupVersionKind
	// RequestKind is the version that the user wrote; another one than Kind where the API server
	// converted (matchPolicy Equivalent). Zero where the review does not say.
	RequestKind schema.GroupVersionKind
	// Resource is the plural of Kind, as access reviews want it.
	Resource schema.GroupVersionResource
	// SubResource is "" for the object itself.
	SubResource string
	// Name is "" on a create with generateName.
	Name      string
	Namespace string
	Operation admissionv1.Operation
	// User is who asked, as the API server authenticated it.
	User authenticationv1.UserInfo
	// DryRun says that nothing will be stored: nothing outside may be touched either.
	DryRun bool
}

// review is a Request with the objects, which are parts of the request's body; none stands for null.
type review struct {
	Request
	object    wire.Value
	oldObject wire.Value
	author    func(version string, object []byte) Author // nil where it knows the object at Kind
	scratch   *bytes.Buffer                              // for the patch; good until the review is answered
}
