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

// parse reads the envelope; the error is a *wire.Refusal.
func parse(body []byte) (review, error) {
	var got review
	if err := envelope.Request(body, got.member); err != nil {
		return review{}, err
	}
	if got.UID == "" {
		return review{}, envelope.WithoutUID()
	}
	return got, nil
}

func (v *review) member(r *wire.Reader, name []byte) (err error) {
	var text string
	switch string(name) {
	case "uid":
		text, err = r.Text()
		v.UID = types.UID(text)
	case "kind":
		v.Kind, err = groupVersionKind(r)
	case "requestKind":
		v.RequestKind, err = groupVersionKind(r)
	case "resource":
		v.Resource, err = groupVersionResource(r)
	case "subResource":
		v.SubResource, err = r.Text()
	case "name":
		v.Name, err = r.Text()
	case "namespace":
		v.Namespace, err = r.Text()
	case "operation":
		text, err = r.Text()
		v.Operation = admissionv1.Operation(text)
	case "userInfo":
		if err = r.Object(v.user); err != nil {
			err = fmt.Errorf("request.userInfo: %w", err)
		}
	case "dryRun":
		v.DryRun, err = truth(r, name)
	case "object":
		v.object, err = r.Value()
	case "oldObject":
		v.oldObject, err = r.Value()
	default:
		err = r.Skip()
	}
	return err
}

func (v *review) user(r *wire.Reader, name []byte) (err error) {
	switch string(name) {
	case "username":
		v.User.Username, err = r.Text()
	case "uid":
		v.User.UID, err = r.Text()
	case "groups":
		v.User.Groups, err = texts(r)
	case "extra":
		err = r.Object(func(r *wire.Reader, name []byte) error {
			values, err := texts(r)
			if v.User.Extra == nil {
				v.User.Extra = make(map[string]authenticationv1.ExtraValue)
			}
			v.User.Extra[string(name)] = values
			return err
		})
	default:
		err = r.Skip()
	}
	return err
}

func texts(r *wire.Reader) (list []string, err error) {
	err = r.Array(func(r *wire.Reader) error {
		text, err := r.Text()
		list = append(list, text)
		return err
	})
	return list, err
}

func truth(r *wire.Reader, name []byte) (bool, error) {
	value, err := r.Value()
	if err != nil || value == nil {
		return false, err
	}
	is := string(value) == "true"
	if !is && string(value) != "false" {
		return false, fmt.Errorf("request.%s must be true or false", name)
	}
	return is, nil
}

func groupVersionKind(r *wire.Reader) (schema.GroupVersionKind, error) {
	group, version, kind, err := triple(r, "kind")
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, err
}

func groupVersionResource(r *wire.Reader) (schema.GroupVersionResource, error) {
	group, version, resource, err := triple(r, "resource")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, err
}

func triple(r *wire.Reader, last string) (group, version, third string, err error) {
	err = r.Object(func(r *wire.Reader, name []byte) (err error) {
		switch string(name) {
		case "group":
			group, err = r.Text()
		case "version":
			version, err = r.Text()
		case last:
			third, err = r.Text()
		default:
			err = r.Skip()
		}
		return err
	})
	return group, version, third, err
}
