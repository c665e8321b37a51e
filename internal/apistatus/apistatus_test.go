// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apistatus

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const page = "<html><h1>404 Not Found</h1></html>"

// response is one of a server that a client takes for the API server.
type response struct {
	contentType, body, auditID string
}

func statusOf(t *testing.T, err *apierrors.StatusError) string {
	t.Helper()
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, failed := json.Marshal(status)
	if failed != nil {
		t.Fatal(failed)
	}
	return string(body)
}

// Each response is read by client-go with and without the transport.
func TestOnlyTheAPIServerSaysThatAnObjectIsAbsent(t *testing.T) {
	t.Parallel()
	configMaps, name := schema.GroupResource{Resource: "configmaps"}, "calendar"
	for words, test := range map[string]struct {
		response
		absent   bool
		notFound bool // through the transport
	}{
		"a Status of the object":             {response{"application/json", statusOf(t, apierrors.NewNotFound(configMaps, name)), "1"}, true, true},
		"a Status without the header":        {response{"application/json", statusOf(t, apierrors.NewNotFound(configMaps, name)), ""}, true, true},
		"a Status of another object":         {response{"application/json", statusOf(t, apierrors.NewNotFound(configMaps, "other")), "1"}, false, true},
		"a Status of its namespace":          {response{"application/json", statusOf(t, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")), "1"}, false, true},
		"a Status of another group":          {response{"application/json", statusOf(t, apierrors.NewNotFound(schema.GroupResource{Group: "x.dev", Resource: "configmaps"}, name)), "1"}, false, true},
		"a path that is not served":          {response{"text/plain", "404 page not found\n", "1"}, false, true},
		"the page of a proxy":                {response{"text/html", page, ""}, false, false},
		"a page without a type":              {response{"", page, ""}, false, false},
		"a page that is called JSON":         {response{"application/json", page, ""}, false, false},
		"nothing":                            {response{"", "", ""}, false, false},
		"JSON of a proxy":                    {response{"application/json", `{"error": "no backend"}`, ""}, false, false},
		"a Status that is no failure":        {response{"application/json", `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`, ""}, false, false},
		"a Status that says another reason":  {response{"application/json", statusOf(t, apierrors.NewUnauthorized("no")), ""}, false, false},
		"an object that is called a failure": {response{"application/json", `{"kind": "ConfigMap", "apiVersion": "v1"}`, ""}, false, false},
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.contentType != "" {
					w.Header().Set("Content-Type", test.contentType)
				}
				if test.auditID != "" {
					w.Header().Set(auditID, test.auditID)
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			get := func(wrap func(http.RoundTripper) http.RoundTripper) error {
				client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, WrapTransport: wrap})
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.CoreV1().ConfigMaps("shop").Get(t.Context(), name, metav1.GetOptions{})
				return err
			}
			for wrapped, err := range map[string]error{"without": get(nil), "with": get(Transport)} {
				if got := IsAbsent(fmt.Errorf("read it: %w", err), configMaps, name); got != test.absent {
					t.Errorf("%s the transport: absent %v, want %v: %v", wrapped, got, test.absent, err)
				}
			}
			if err := get(Transport); apierrors.IsNotFound(err) != test.notFound {
				t.Errorf("NotFound is %v, want %v: %v", !test.notFound, test.notFound, err)
			}
		})
	}
}

func TestWhatIsNoNotFoundIsNoAbsence(t *testing.T) {
	t.Parallel()
	configMaps := corev1.Resource("configmaps")
	for _, err := range []error{
		nil, errors.New("404"), apierrors.NewForbidden(configMaps, "a", errors.New("no")), apierrors.NewResourceExpired("it"),
		apierrors.NewNotFound(schema.GroupResource{Resource: "ConfigMap"}, "a"), // of a cache
	} {
		if IsAbsent(err, configMaps, "a") {
			t.Errorf("%v is an absence", err)
		}
		if IgnoreAbsent(err, configMaps, "a") != err { //nolint:errorlint // the same error, not one that wraps it
			t.Errorf("%v is ignored", err)
		}
	}
	if err := IgnoreAbsent(apierrors.NewNotFound(configMaps, "a"), configMaps, "a"); err != nil {
		t.Error(err)
	}
}
