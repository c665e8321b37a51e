// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// Request is an AdmissionRequest without the objects.
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
	// User is the writer, as the API server authenticated it.
	User authenticationv1.UserInfo
	// DryRun is set where nothing will be stored: nothing else may be written either.
	DryRun bool
}

// request is a Request with the objects, which are parts of the request's body; none stands for null.
type request struct {
	Request
	object    jsonindex.Value
	oldObject jsonindex.Value
	scratch   *bytes.Buffer // for the patch; valid until the response is written
}

const (
	reviewKind       = "AdmissionReview"
	reviewAPIVersion = admissionv1.GroupName + "/v1"
)

var envelope = review.Envelope{Kind: reviewKind, APIVersion: reviewAPIVersion, Versions: "the webhook's admissionReviewVersions"}

// parse reads the envelope into the document; the error is a *review.Refusal.
func parse(into *jsonindex.Document, body []byte) (request, error) {
	var got request
	if err := envelope.Request(into, body, got.member); err != nil {
		return request{}, err
	}
	if got.UID == "" {
		return request{}, envelope.WithoutUID()
	}
	return got, nil
}

func (r *request) member(name []byte, value jsonindex.Value) (err error) {
	var text string
	switch string(name) {
	case "uid":
		text, err = review.String(value)
		r.UID = types.UID(text)
	case "kind":
		r.Kind, err = groupVersionKind(value)
	case "requestKind":
		r.RequestKind, err = groupVersionKind(value)
	case "resource":
		r.Resource, err = groupVersionResource(value)
	case "subResource":
		r.SubResource, err = review.String(value)
	case "name":
		r.Name, err = review.String(value)
	case "namespace":
		r.Namespace, err = review.String(value)
	case "operation":
		text, err = review.String(value)
		r.Operation = admissionv1.Operation(text)
	case "userInfo":
		if err = review.Members(value, r.user); err != nil {
			err = fmt.Errorf("request.userInfo: %w", err)
		}
	case "dryRun":
		r.DryRun, err = truth(name, value)
	case "object":
		r.object = present(value)
	case "oldObject":
		r.oldObject = present(value)
	}
	return err
}

// present is a value that is not null.
func present(value jsonindex.Value) jsonindex.Value {
	if value.Kind() == 'n' {
		return jsonindex.Value{}
	}
	return value
}

func (r *request) user(name []byte, value jsonindex.Value) (err error) {
	switch string(name) {
	case "username":
		r.User.Username, err = review.String(value)
	case "uid":
		r.User.UID, err = review.String(value)
	case "groups":
		r.User.Groups, err = texts(value)
	case "extra":
		err = review.Members(value, func(name []byte, value jsonindex.Value) error {
			values, err := texts(value)
			if r.User.Extra == nil {
				r.User.Extra = make(map[string]authenticationv1.ExtraValue)
			}
			r.User.Extra[value.Keep(name)] = values
			return err
		})
	}
	return err
}

func texts(values jsonindex.Value) (list []string, err error) {
	if n := values.Len(); n > 0 {
		list = make([]string, 0, n)
	}
	err = review.Items(values, func(value jsonindex.Value) error {
		text, err := review.String(value)
		list = append(list, text)
		return err
	})
	return list, err
}

func truth(name []byte, value jsonindex.Value) (bool, error) {
	switch value.Kind() {
	case 'n', 'f':
		return false, nil
	case 't':
		return true, nil
	}
	return false, fmt.Errorf("request.%s must be true or false", name)
}

func groupVersionKind(value jsonindex.Value) (schema.GroupVersionKind, error) {
	group, version, kind, err := triple(value, "kind")
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, err
}

func groupVersionResource(value jsonindex.Value) (schema.GroupVersionResource, error) {
	group, version, resource, err := triple(value, "resource")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, err
}

func triple(value jsonindex.Value, last string) (group, version, third string, err error) {
	err = review.Members(value, func(name []byte, value jsonindex.Value) (err error) {
		switch string(name) {
		case "group":
			group, err = review.String(value)
		case "version":
			version, err = review.String(value)
		case last:
			third, err = review.String(value)
		}
		return err
	})
	return group, version, third, err
}
