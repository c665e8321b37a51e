// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// reviewUID is the UID that every answer must repeat.
const reviewUID = "8f1c2f3e-3f0a-4d0c-9a52-0f6d2c7b9e10"

// conversionReview asks for one object at another version.
func conversionReview(object []byte, desired string) []byte {
	review := apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID:               reviewUID,
		DesiredAPIVersion: desired,
		Objects:           []runtime.RawExtension{{Raw: object}},
	}}
	review.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview"))
	return append(encode(review), '\n')
}

// admissionReview asks about a create, or about an update where old is not nil.
func admissionReview(obj, old *unstructured.Unstructured) []byte {
	kind := metav1.GroupVersionKind(obj.GroupVersionKind())
	resource := metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "externalservices"}
	request := &admissionv1.AdmissionRequest{
		UID:             reviewUID,
		Kind:            kind,
		Resource:        resource,
		RequestKind:     &kind,
		RequestResource: &resource,
		Name:            obj.GetName(),
		Namespace:       obj.GetNamespace(),
		Operation:       admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{
			Username: "system:serviceaccount:shop:deployer",
			UID:      "3c1a0f0e-07d5-4a37-bd42-6f3f5c9d1b55",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"},
		},
		Object:  runtime.RawExtension{Raw: encode(obj.Object)},
		DryRun:  ptr.To(false),
		Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl","fieldValidation":"Strict"}`)},
	}
	if old != nil {
		request.Operation = admissionv1.Update
		request.OldObject = runtime.RawExtension{Raw: encode(old.Object)}
		request.Options.Raw = []byte(`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl","fieldValidation":"Strict"}`)
	}
	review := admissionv1.AdmissionReview{Request: request}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	return append(encode(review), '\n')
}
