// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apistatus

import (
	"bytes"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// auditID is the header that the API server sets on each response of its own.
	auditID = "Audit-Id"
	// maxStatus bounds what is read of the body of a 404, in bytes. A Status is far smaller.
	maxStatus = 64 << 10
)

// ForeignResponseError reports a response that did not come from the API server.
type ForeignResponseError struct{ Method, Path string }

func (e *ForeignResponseError) Error() string {
	return e.Method + " " + e.Path + ": 404 that is not of the API server: a proxy or a load balancer in front of it responded"
}

// Transport returns a ForeignResponseError for a response 404 that is not the API server's: it has neither the header of the API
// server nor a Status for a body. Such a response says nothing about any object.
func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusNotFound || response.Header.Get(auditID) != "" {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if status, ok := decoded.(*metav1.Status); err != nil || !ok || !isFailure(status) {
		return nil, &ForeignResponseError{r.Method, r.URL.Path}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
