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

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
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

// review is a Request with the objects, which are parts of the request's body; none stands for null.
type review struct {
	Request
	object     wire.Value
	oldObject  wire.Value
	translator func(version string, object []byte) Translator // nil where Kind was written
	scratch    *bytes.Buffer                                  // for the patch; valid until the response is written
}

const (
	reviewKind       = "AdmissionReview"
	reviewAPIVersion = admissionv1.GroupName + "/v1"
)

var envelope = wire.Envelope{Kind: reviewKind, APIVersion: reviewAPIVersion, Versions: "the webhook's admissionReviewVersions"}

// parse reads the envelope into the document; the error is a *wire.Refusal.
func parse(into *wire.Document, body []byte) (review, error) {
	var got review
	if err := envelope.Request(into, body, got.member); err != nil {
		return review{}, err
	}
	if got.UID == "" {
		return review{}, envelope.WithoutUID()
	}
	return got, nil
}

func (r *review) member(name []byte, value wire.Value) (err error) {
	var text string
	switch string(name) {
	case "uid":
		text, err = wire.String(value)
		r.UID = types.UID(text)
	case "kind":
		r.Kind, err = groupVersionKind(value)
	case "requestKind":
		r.RequestKind, err = groupVersionKind(value)
	case "resource":
		r.Resource, err = groupVersionResource(value)
	case "subResource":
		r.SubResource, err = wire.String(value)
	case "name":
		r.Name, err = wire.String(value)
	case "namespace":
		r.Namespace, err = wire.String(value)
	case "operation":
		text, err = wire.String(value)
		r.Operation = admissionv1.Operation(text)
	case "userInfo":
		if err = wire.Members(value, r.user); err != nil {
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
func present(value wire.Value) wire.Value {
	if value.Kind() == 'n' {
		return wire.Value{}
	}
	return value
}

func (r *review) user(name []byte, value wire.Value) (err error) {
	switch string(name) {
	case "username":
		r.User.Username, err = wire.String(value)
	case "uid":
		r.User.UID, err = wire.String(value)
	case "groups":
		r.User.Groups, err = texts(value)
	case "extra":
		err = wire.Members(value, func(name []byte, value wire.Value) error {
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

func texts(values wire.Value) (list []string, err error) {
	if n := values.Len(); n > 0 {
		list = make([]string, 0, n)
	}
	err = wire.Items(values, func(value wire.Value) error {
		text, err := wire.String(value)
		list = append(list, text)
		return err
	})
	return list, err
}

func truth(name []byte, value wire.Value) (bool, error) {
	switch value.Kind() {
	case 'n', 'f':
		return false, nil
	case 't':
		return true, nil
	}
	return false, fmt.Errorf("request.%s must be true or false", name)
}

func groupVersionKind(value wire.Value) (schema.GroupVersionKind, error) {
	group, version, kind, err := triple(value, "kind")
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, err
}

func groupVersionResource(value wire.Value) (schema.GroupVersionResource, error) {
	group, version, resource, err := triple(value, "resource")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, err
}

func triple(value wire.Value, last string) (group, version, third string, err error) {
	err = wire.Members(value, func(name []byte, value wire.Value) (err error) {
		switch string(name) {
		case "group":
			group, err = wire.String(value)
		case "version":
			version, err = wire.String(value)
		case last:
			third, err = wire.String(value)
		}
		return err
	})
	return group, version, third, err
}
