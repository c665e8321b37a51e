// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conditiongate

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// apiServer responds to each request with a status and a body, and has the path of the last one.
type apiServer struct {
	dynamic.Interface
	code atomic.Int32
	body atomic.Value
	path atomic.Value
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.path.Store(r.URL.Path)
		body, _ := s.body.Load().(string)
		if json.Valid([]byte(body)) {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(int(s.code.Load()))
		_, _ = w.Write([]byte(body)) // the client may have ended
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.Interface = client
	return s
}

func (s *apiServer) responds(code int, body string) {
	s.body.Store(body)
	s.code.Store(int32(code))
}

func failure(reason, code string) string {
	return `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "words of the API server", "reason": "` + reason + `", "code": ` + code + `}`
}

func TestWhatCannotBeReadClosesItsGateAndSaysWhatToDo(t *testing.T) {
	s := newAPIServer(t)
	for name, test := range map[string]struct {
		code       int
		body, want string
	}{
		"it is there": {200, `{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "web"}}`, ""},
		"another kind has the resource": {200, `{"apiVersion": "cert-manager.io/v1", "kind": "Certification", "metadata": {"name": "web"}}`,
			"Certificate web cannot be read: the API server has kind Certification as certificates.cert-manager.io: correct kind"},
		"it is not there": {404, failure("NotFound", "404"), "Certificate web does not exist"},
		"its kind is not served": {404, "404 page not found",
			"Certificate web cannot be read: the API server does not serve certificates.cert-manager.io of cert-manager.io/v1 in namespaces: install its CRD, or correct apiVersion and kind"},
		"the operator lacks the right": {403, failure("Forbidden", "403"),
			`Certificate web cannot be read: the operator may not get certificates.cert-manager.io: grant it that, by a ClusterRole with the label rbac.fairlead.dev/aggregate-to-manager: "true"`},
		"the API server is broken": {500, failure("InternalError", "500"), "Certificate web cannot be read: InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			s.responds(test.code, test.body)
			object, got := Read(t.Context(), s, "shop", certificate(t, ""))
			if got != test.want || (object != nil) != (test.want == "") {
				t.Errorf("%v, %q, want %q", object, got, test.want)
			}
			if path := s.path.Load(); path != "/apis/cert-manager.io/v1/namespaces/shop/certificates/web" {
				t.Errorf("reads %s", path)
			}
		})
	}
}

func TestTheObjectsOfAllGatesAreRead(t *testing.T) {
	s := newAPIServer(t)
	s.responds(200, `{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "web"}, "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Pending"}]}}`)
	policy, notified := types.NamespacedName{Namespace: "shop", Name: "p"}, make(chan types.NamespacedName, 10)
	o := New(s, func() time.Time { return noon }, func(policy types.NamespacedName) { notified <- policy })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- o.Run(ctx) }()
	gate, other := certificate(t, ""), certificate(t, `, type: Ready, status: "False", maxAge: 1h`)
	if got := o.Closed(policy, gate); got != "its object was not read yet" {
		t.Errorf("%q", got)
	}
	o.Set(policy, []*autorebootv1.ObjectCondition{gate, other})
	for range 2 {
		if got := <-notified; got != policy {
			t.Errorf("%v", got)
		}
	}
	if got := o.Closed(policy, gate); got != "Certificate web is not current: InProgress (Pending)" {
		t.Errorf("%q", got)
	}
	if got := o.Closed(policy, other.DeepCopy()); got != "Certificate web: condition Ready is False of an unknown age: it has no lastTransitionTime" {
		t.Errorf("%q", got)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
