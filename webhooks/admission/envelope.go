// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

const reviewKind = "AdmissionReview"

var reviewAPIVersion = admissionv1.SchemeGroupVersion.String()

// parse reads the envelope; the error is a *wire.Refusal.
func parse(body []byte) (review, error) {
	var (
		got              review
		kind, apiVersion string
		hasRequest       bool
	)
	err := wire.Walk(body, func(r *wire.Reader, name string) (err error) {
		switch name {
		case "kind":
			kind, err = r.Text()
		case "apiVersion":
			apiVersion, err = r.Text()
		case "request":
			err = r.Object(func(r *wire.Reader, name string) error {
				hasRequest = true
				return got.member(r, name)
			})
		default:
			err = r.Skip()
		}
		return err
	})
	refuse := func(format string, args ...any) (review, error) {
		return review{}, wire.Refuse(http.StatusBadRequest, format, args...)
	}
	switch {
	case err != nil:
		return refuse("the body is not an %s: %v", reviewKind, err)
	case kind != reviewKind:
		return refuse("the body is of kind %.100q: an %s was expected", kind, reviewKind)
	case apiVersion != reviewAPIVersion:
		return refuse("an %s of apiVersion %.100q is not understood; put v1 into the webhook's admissionReviewVersions", reviewKind, apiVersion)
	case !hasRequest:
		return refuse("the %s has no request", reviewKind)
	case got.UID == "":
		return refuse("the %s has no request.uid", reviewKind)
	}
	return got, nil
}

func (v *review) member(r *wire.Reader, name string) (err error) {
	var text string
	switch name {
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
		err = into(r, name, &v.User)
	case "dryRun":
		err = into(r, name, &v.DryRun)
	case "object":
		v.object, err = r.Value()
	case "oldObject":
		v.oldObject, err = r.Value()
	default:
		err = r.Skip()
	}
	return err
}

func into(r *wire.Reader, name string, target any) error {
	value, err := r.Value()
	if err != nil || value == nil {
		return err
	}
	if err := json.Unmarshal(value, target); err != nil {
		return fmt.Errorf("request.%s: %w", name, err)
	}
	return nil
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
	err = r.Object(func(r *wire.Reader, name string) (err error) {
		switch name {
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
