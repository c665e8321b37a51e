// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	mutatePath   = "/mutate-networking-fairlead-dev-v1-externalservice"
	validatePath = "/validate-networking-fairlead-dev-v1-externalservice"

	maxBody = 4 << 20 // the default of webhook.maxBodyBytes
)

// admissionReview asks to admit an ExternalService.
func admissionReview(version string) string {
	review := map[string]any{
		"apiVersion": "admission.k8s.io/" + version, "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "u-1", "operation": "CREATE", "name": "one", "namespace": "default",
			"kind":     map[string]any{"group": "networking.fairlead.dev", "version": "v1", "kind": "ExternalService"},
			"resource": map[string]any{"group": "networking.fairlead.dev", "version": "v1", "resource": "externalservices"},
			"userInfo": map[string]any{"username": "ann"},
			"object": map[string]any{
				"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService",
				"metadata": map[string]any{"name": "one", "namespace": "default"},
				"spec": map[string]any{
					"ports":     []any{map[string]any{"name": "http", "port": 80}},
					"endpoints": []any{map[string]any{"name": "a", "addresses": []any{"192.0.2.1"}}},
				},
			},
		},
	}
	raw, err := json.Marshal(review)
	if err != nil {
		panic(err) //nolint:forbidigo // the review is our own
	}
	return string(raw)
}

// sound wants good requests to be answered well, on every path.
func (r *replica) sound() error {
	r.suite.Helper()
	if err := r.converts(); err != nil {
		return err
	}
	for _, path := range []string{mutatePath, validatePath} {
		got, err := r.send(r.caller(), path, strings.NewReader(admissionReview("v1")))
		if err != nil {
			return err
		}
		if got.code != http.StatusOK || !strings.Contains(got.body, `"allowed":true`) || got.version != "HTTP/1.1" {
			return fmt.Errorf("POST %s: %d %s %s", path, got.code, got.version, got.body)
		}
	}
	_, err := r.Probe(r.suite.Context(), "/readyz")
	return err
}

// zeros is an endless body that begins like JSON.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestABodyThatIsNoReviewIsRefusedAndHurtsNoOther(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	s.Must(r.sound())
	client := r.caller()
	conversion := string(conversionReview("networking.fairlead.dev/v1", old("x")))
	for name, test := range map[string]struct {
		paths   []string // the path of conversion, or both of admission
		body    string
		headers []string
		code    int
		says    string
	}{
		"empty":                   {[]string{"/convert", mutatePath, validatePath}, "", nil, 400, "empty"},
		"no JSON":                 {[]string{"/convert", mutatePath, validatePath}, "convert me", nil, 400, ""},
		"half":                    {[]string{"/convert"}, conversion[:100], nil, 400, ""},
		"half a review":           {[]string{mutatePath, validatePath}, admissionReview("v1")[:100], nil, 400, ""},
		"deep":                    {[]string{"/convert", mutatePath, validatePath}, strings.Repeat(`{"a":`, 500_000), nil, 400, ""},
		"binary":                  {[]string{"/convert", mutatePath, validatePath}, "\xff\xfe\x00{}", nil, 400, ""},
		"null":                    {[]string{"/convert", mutatePath, validatePath}, "null", nil, 400, ""},
		"wrong content type":      {[]string{"/convert", mutatePath, validatePath}, conversion, []string{"Content-Type: text/plain"}, 415, "application/json"},
		"compressed":              {[]string{"/convert", mutatePath, validatePath}, conversion, []string{"Content-Encoding: gzip"}, 415, "uncompressed"},
		"admission to conversion": {[]string{"/convert"}, admissionReview("v1"), nil, 400, "AdmissionReview"},
		"conversion to admission": {[]string{mutatePath, validatePath}, conversion, nil, 400, "ConversionReview"},
		"unknown review version":  {[]string{mutatePath, validatePath}, admissionReview("v1beta1"), nil, 400, "v1beta1"},
		"unknown conversion API":  {[]string{"/convert"}, strings.Replace(conversion, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1), nil, 400, "v1beta1"},
		"unknown object version":  {[]string{"/convert"}, string(conversionReview("networking.fairlead.dev/v7", old("x"))), nil, 200, `"status":"Failure"`},
		"unknown kind":            {[]string{"/convert"}, strings.Replace(conversion, `"ExternalService"`, `"Car"`, 1), nil, 200, `"status":"Failure"`},
		"object that is none":     {[]string{"/convert"}, strings.Replace(conversion, `"objects":[{`, `"objects":[7,{`, 1), nil, 200, `"status":"Failure"`},
		"oversized by its length": {[]string{"/convert", mutatePath, validatePath}, strings.Repeat("0", maxBody+1), []string{"Expect: 100-continue"}, 413, "4194304"},
		"another path":            {[]string{"/", "/convert/x", "/mutate"}, conversion, nil, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range test.paths {
				got, err := r.send(client, path, strings.NewReader(test.body), test.headers...)
				if err != nil || got.code != test.code || !strings.Contains(got.body, test.says) {
					t.Errorf("POST %s: %d %.300s, %v; want %d and %q", path, got.code, got.body, err, test.code, test.says)
				}
			}
		})
	}
	s.Must(r.sound())

	// Endless bodies, many at once: each may cost its limit while it is read, and nothing after.
	var sending sync.WaitGroup
	for i := range 12 {
		path := []string{"/convert", mutatePath, validatePath}[i%3]
		sending.Go(func() {
			got, err := r.send(client, path, io.MultiReader(strings.NewReader(`{"kind":"`), io.LimitReader(zeros{}, 4*maxBody)))
			// The server may hang up before all was sent, or have no time left while others had their
			// turn; take it, it must not.
			if err == nil && got.code < http.StatusBadRequest {
				t.Errorf("POST %s without end: %d %.300s", path, got.code, got.body)
			}
		})
	}
	sending.Wait()
	s.Must(r.sound())
	resident := r.mustMetric("process_resident_memory_bytes")
	t.Logf("resident after hostile bodies: %.0f MiB", resident/(1<<20))
	if resident > 400<<20 {
		t.Errorf("the process has %.0f MiB resident", resident/(1<<20))
	}
	if panics := r.mustMetric(`fairlead_webhook_panics_total{path="/convert"}`); panics != 0 {
		t.Errorf("%v panics", panics)
	}
}

func TestAReviewOfManyObjectsIsConvertedWhole(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	objects := make([]*unstructured.Unstructured, 500)
	for i := range objects {
		objects[i] = old(fmt.Sprintf("o-%d", i))
	}
	got, err := r.send(r.caller(), "/convert", bytes.NewReader(conversionReview("networking.fairlead.dev/v1", objects...)))
	s.Must(err)
	if n := strings.Count(got.body, `"networking.fairlead.dev/v1"`); got.code != http.StatusOK || n != len(objects) {
		t.Errorf("%d, with %d of %d objects converted: %.300s", got.code, n, len(objects), got.body)
	}
}

func TestTheWebhookPortSpeaksTLS13AndHTTP1Alone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	plain, err := (&http.Client{Timeout: 10 * time.Second}).Post("http://"+r.Webhook+"/convert", "application/json", strings.NewReader("{}"))
	if err == nil {
		s.Must(plain.Body.Close())
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP is answered %s", plain.Status)
		}
	}
	for name, version := range map[string]uint16{"TLS 1.1": tls.VersionTLS11, "TLS 1.2": tls.VersionTLS12} {
		conn, err := tls.Dial("tcp", r.Webhook, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
		if err == nil {
			s.Must(conn.Close())
			t.Errorf("%s is accepted", name)
		} else if !strings.Contains(err.Error(), "protocol version") {
			t.Errorf("%s is refused with: %v", name, err)
		}
	}
	conn, err := tls.Dial("tcp", r.Webhook, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	s.Must(err)
	defer func() { _ = conn.Close() }()
	if state := conn.ConnectionState(); state.NegotiatedProtocol != "http/1.1" || state.Version != tls.VersionTLS13 {
		t.Errorf("negotiated %q over %s", state.NegotiatedProtocol, tls.VersionName(state.Version))
	}
	s.Must(r.sound())
}
