// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

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

func (v *review) member(name []byte, value wire.Value) (err error) {
	var text string
	switch string(name) {
	case "uid":
		text, err = wire.String(value)
		v.UID = types.UID(text)
	case "kind":
		v.Kind, err = groupVersionKind(value)
	case "requestKind":
		v.RequestKind, err = groupVersionKind(value)
	case "resource":
		v.Resource, err = groupVersionResource(value)
	case "subResource":
		v.SubResource, err = wire.String(value)
	case "name":
		v.Name, err = wire.String(value)
	case "namespace":
		v.Namespace, err = wire.String(value)
	case "operation":
		text, err = wire.String(value)
		v.Operation = admissionv1.Operation(text)
	case "userInfo":
		if err = wire.Members(value, v.user); err != nil {
			err = fmt.Errorf("request.userInfo: %w", err)
		}
	case "dryRun":
		v.DryRun, err = truth(name, value)
	case "object":
		v.object = present(value)
	case "oldObject":
		v.oldObject = present(value)
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

func (v *review) user(name []byte, value wire.Value) (err error) {
	switch string(name) {
	case "username":
		v.User.Username, err = wire.String(value)
	case "uid":
		v.User.UID, err = wire.String(value)
	case "groups":
		v.User.Groups, err = texts(value)
	case "extra":
		err = wire.Members(value, func(name []byte, value wire.Value) error {
			values, err := texts(value)
			if v.User.Extra == nil {
				v.User.Extra = make(map[string]authenticationv1.ExtraValue)
			}
			v.User.Extra[value.Keep(name)] = values
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
