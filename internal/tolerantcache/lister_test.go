// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// slowServer has objects, and cuts off each page of more than it can send.
type slowServer struct {
	objects, sends int
	refuses        bool
	asked          []string // limit and token
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	s.asked = append(s.asked, fmt.Sprintf("%d from %d", limit, from))
	w.Header().Set("Content-Type", "application/json")
	if s.refuses {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		return
	}
	to := min(from+limit, s.objects)
	token := ""
	if to < s.objects {
		token = strconv.Itoa(to)
	}
	_, _ = fmt.Fprint(w, strings.Replace(listHead, "next", token, 1))
	for i := from; i < to; i++ {
		if i-from == s.sends {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to drop a connection
		}
		if i > from {
			_, _ = fmt.Fprint(w, ",")
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":"n%d"}}`, i)
	}
	_, _ = fmt.Fprint(w, "]}")
}

func (s *slowServer) lister(t *testing.T, onPage func(string, int)) *lister {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	kind := networkingv1.GroupVersion.WithKind("ExternalService")
	informers, err := NewInformers(Options{
		Config: &rest.Config{Host: server.URL}, HTTPClient: server.Client(), Scheme: newScheme(t), Kinds: []schema.GroupVersionKind{kind},
		Undecodable: NewUndecodable(UndecodableOptions{}), OnPage: onPage,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &lister{
		kind: kind, client: informers.clients[kind], serializer: newSerializer(informers.scheme, kind), parameters: informers.parameters,
		transform: informers.transform, onPage: informers.onPage, url: &url.URL{Path: sourcePath},
	}
}

func TestAListThatIsCutOffGoesOnBySmallerPagesFromWhereItIs(t *testing.T) {
	t.Parallel()
	server := &slowServer{objects: 6000, sends: 3000}
	var progress []int
	l := server.lister(t, func(_ string, objects int) { progress = append(progress, objects) })
	listed, err := l.ListNamespaces(t.Context(), metav1.ListOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(listed.(*internalversion.List).Items); got != server.objects {
		t.Errorf("%d objects, want %d", got, server.objects)
	}
	want := []string{"50000 from 0", "5000 from 0", "2500 from 0", "2500 from 2500", "2500 from 5000"}
	if !slices.Equal(server.asked, want) || !slices.Equal(progress, []int{2500, 5000}) {
		t.Errorf("asked for %q, want %q; progress %v", server.asked, want, progress)
	}
	server.asked = nil
	if _, err := l.ListNamespaces(t.Context(), metav1.ListOptions{}, nil); err != nil || server.asked[0] != "2500 from 0" {
		t.Errorf("the next list asks for %q: %v", server.asked, err)
	}
}

func TestAListThatIsCutOffAtAnySizeFailsAndOneThatIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	server := &slowServer{objects: 6000, sends: 100}
	if _, err := server.lister(t, nil).ListNamespaces(t.Context(), metav1.ListOptions{}, nil); err == nil {
		t.Error("a list that is cut off seems complete")
	}
	if last := server.asked[len(server.asked)-1]; last != "500 from 0" {
		t.Errorf("the last page has %s", last)
	}
	server = &slowServer{refuses: true}
	if _, err := server.lister(t, nil).ListNamespaces(t.Context(), metav1.ListOptions{}, nil); err == nil || len(server.asked) != 1 {
		t.Errorf("asked for %q: %v", server.asked, err)
	}
}
