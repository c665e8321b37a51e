// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

var reviewType = metav1.TypeMeta{Kind: "ConversionReview", APIVersion: apiextensionsv1.SchemeGroupVersion.String()}

// parse reads a review; the error is a *review.Refusal.
func parse(body []byte) (*apiextensionsv1.ConversionRequest, error) {
	var got apiextensionsv1.ConversionReview
	err := review.Decode(body, &got, &got.TypeMeta, reviewType, "the CRD's conversionReviewVersions")
	switch {
	case err != nil:
		return nil, err
	case got.Request == nil:
		return nil, review.Refuse(http.StatusBadRequest, "the %s has no request", reviewType.Kind)
	case got.Request.UID == "":
		return nil, review.Refuse(http.StatusBadRequest, "the %s has no request.uid", reviewType.Kind)
	}
	return got.Request, nil
}

// response returns the review to send back: with the objects, or with the error.
func response(req *apiextensionsv1.ConversionRequest, objects []runtime.RawExtension, err error) ([]byte, error) {
	resp := &apiextensionsv1.ConversionResponse{UID: req.UID, ConvertedObjects: objects, Result: metav1.Status{Status: metav1.StatusSuccess}}
	if err != nil {
		resp.ConvertedObjects = []runtime.RawExtension{}
		resp.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	return json.Marshal(apiextensionsv1.ConversionReview{TypeMeta: reviewType, Response: resp})
}
