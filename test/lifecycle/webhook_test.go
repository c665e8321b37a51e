// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// bundle is the CA bundle that stands in a CRD.
func (s *suite) bundle(crd string) []byte {
	s.Helper()
	object, err := s.Dynamic.Resource(crds).Get(s.Context(), crd, metav1.GetOptions{})
	s.Must(err)
	encoded, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	s.Must(err)
	return decoded
}

// caller is a client that trusts the published bundle alone, as the API server does. It waits until that is the replica's:
// one that makes a new authority is ready before it has published it, and until then the bundle of an earlier test stands there.
func (r *replica) caller() *http.Client {
	r.suite.Helper()
	roots := x509.NewCertPool()
	r.suite.Eventually(func() error {
		bundle := r.suite.bundle(framework.Definitions[0])
		if !roots.AppendCertsFromPEM(bundle) {
			return fmt.Errorf("the published bundle holds no certificate: %q", bundle)
		}
		_, err := framework.Presented(r.suite.Context(), r.Webhook, bundle)
		return err
	})
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: framework.ServerName},
		ForceAttemptHTTP2: true, // the server must not offer it
		DisableKeepAlives: true,
		// For "Expect: 100-continue": an answer to the head alone must not race with the body.
		ExpectContinueTimeout: framework.Patience,
	}
	return &http.Client{Transport: transport, Timeout: framework.Patience}
}

// conversionReview asks for ExternalServices at another version.
func conversionReview(desired string, objects ...*unstructured.Unstructured) []byte {
	var all []any
	for _, object := range objects {
		all = append(all, object.Object)
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
		"request": map[string]any{"uid": "u-1", "desiredAPIVersion": desired, "objects": all},
	})
	if err != nil {
		panic(err) //nolint:forbidigo // the objects are our own
	}
	return raw
}

// answer is the response of a webhook.
type answer struct {
	code    int
	body    string
	version string
}

// send posts a body to a webhook. Headers are "Name: value".
func (r *replica) send(client *http.Client, path string, body io.Reader, headers ...string) (answer, error) {
	request, err := http.NewRequestWithContext(r.suite.Context(), http.MethodPost, "https://"+r.Webhook+path, body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	return answer{response.StatusCode, string(content), response.Proto}, err
}

// converts asks one replica, and no other, to convert an object, and wants a good answer.
func (r *replica) converts() error {
	r.suite.Helper()
	got, err := r.send(r.caller(), "/convert", bytes.NewReader(conversionReview("networking.fairlead.dev/v1", old("direct"))))
	if err != nil {
		return fmt.Errorf("%s: %w", r.ID, err)
	}
	return converted(got)
}

func converted(got answer) error {
	var review struct {
		Response struct {
			UID              string
			Result           struct{ Status, Message string }
			ConvertedObjects []struct{ APIVersion string }
		}
	}
	if err := json.Unmarshal([]byte(got.body), &review); err != nil || got.code != http.StatusOK {
		return fmt.Errorf("no review came back: %d %s: %v", got.code, got.body, err)
	}
	response := review.Response
	if response.UID != "u-1" || response.Result.Status != "Success" || len(response.ConvertedObjects) != 1 ||
		response.ConvertedObjects[0].APIVersion != "networking.fairlead.dev/v1" {
		return fmt.Errorf("not converted: %s", got.body)
	}
	return nil
}
