// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// cluster is an API server with some objects. One of them can change.
type cluster struct {
	mu      sync.Mutex
	objects map[string][]client.Object // by resource
	refuse  map[string]int             // codes by resource
	watches map[string][]chan client.Object
	asked   int
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	resource := parts[len(parts)-1]
	if len(parts) > 2 && parts[len(parts)-2] == "leases" { // of a replica that leads
		w.Header().Set("Content-Type", "application/json")
		holder, seconds := "pod-a", int32(15)
		_ = json.NewEncoder(w).Encode(&coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &metav1.MicroTime{Time: time.Now()}}})
		return
	}
	c.mu.Lock()
	c.asked++
	objects, code := c.objects[resource], c.refuse[resource]
	changes := make(chan client.Object, 8)
	isWatch := r.URL.Query().Get("watch") != ""
	if isWatch {
		c.watches[resource] = append(c.watches[resource], changes)
	}
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case code != 0:
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: int32(code), Reason: map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound}[code]})
	case isWatch:
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case o := <-changes:
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": o})
				_ = http.NewResponseController(w).Flush()
			}
		}
	default:
		kind, version := "PartialObjectMetadataList", "meta.k8s.io/v1"
		for _, name := range inspect.KindNames() {
			known, _ := inspect.ParseKind(name)
			if inspect.Resource(known).Resource == resource {
				kind, version = known+"List", parts[2]+"/"+parts[3]
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]string{"resourceVersion": "1"}, "items": objects})
	}
}

func (c *cluster) change(resource string, o client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, watch := range c.watches[resource] {
		watch <- o
	}
}

const hostile = `<script>alert("1")</script>&'`

// shop has an ExternalService and a policy, whose words are as an attacker would choose them.
func shop() *cluster {
	noon := metav1.NewTime(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	metadata := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1, Annotations: map[string]string{"a": hostile}}
	}
	ready := []metav1.Condition{{Type: "Ready", Status: "False", Reason: "InvalidSpec", Message: hostile, LastTransitionTime: noon}}
	return &cluster{watches: map[string][]chan client.Object{}, refuse: map[string]int{}, objects: map[string][]client.Object{
		"externalservices": {&networkingv1.ExternalService{
			TypeMeta: metav1.TypeMeta{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService"}, ObjectMeta: metadata("db"),
			Status: networkingv1.ExternalServiceStatus{ObservedGeneration: 1, Conditions: ready, History: []networkingv1.ChangeRecord{{
				Type: "Failover", Record: common.Record{ID: "1", Result: "Done", Reason: hostile, Message: hostile, CompletionTime: &noon}}}},
		}},
		"rebootpolicies": {&autorebootv1.RebootPolicy{
			TypeMeta: metav1.TypeMeta{APIVersion: "autoreboot.fairlead.dev/v1", Kind: "RebootPolicy"}, ObjectMeta: metadata("api"),
			Spec: autorebootv1.RebootPolicySpec{
				Targets:  []autorebootv1.Target{{Kind: "Deployment", Name: hostile}},
				Triggers: []autorebootv1.Trigger{{Name: "weekly", Type: "Schedule", Schedule: &autorebootv1.ScheduleTrigger{Cron: "0 0 * * *"}}},
				Gates: []autorebootv1.Gate{{Name: "database", Type: "Condition",
					Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}}},
			},
			Status: autorebootv1.RebootPolicyStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: noon}}},
		}},
	}}
}

// serve runs a Server against a cluster, and returns the address of its page.
func serve(t *testing.T, c http.Handler) string {
	t.Helper()
	api := httptest.NewServer(c)
	t.Cleanup(api.Close)
	from, err := inspect.NewClient(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- NewServer(Options{From: from, OperatorNamespace: "fairlead-system"}).Run(ctx, func(address string) { ready <- address })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
	select {
	case address := <-ready:
		return address
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return ""
}

// get returns the code, the policy and the body of the response to a request that edit may change.
func get(t *testing.T, address string, edit func(*http.Request)) (code int, csp, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	edit(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Security-Policy"), string(body)
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatal(err)
	}
}

func asIs(*http.Request) {}

func TestOnlyRequestsWithTheTokenFromTheServersOwnPagesAreAnswered(t *testing.T) {
	t.Parallel()
	address := serve(t, shop())
	origin := strings.Join(strings.SplitN(address, "/", 4)[:3], "/")
	for name, test := range map[string]struct {
		address string
		edit    func(*http.Request)
		code    int
	}{
		"as it is":             {address, asIs, 200},
		"localhost":            {address, func(r *http.Request) { r.Host = strings.Replace(r.URL.Host, "127.0.0.1", "localhost", 1) }, 200},
		"its own origin":       {address, func(r *http.Request) { r.Header.Set("Origin", origin) }, 200},
		"no token":             {origin + "/", asIs, 403},
		"another token":        {origin + "/AAAAAAAAAAAAAAAAAAAAAAAAAA/", asIs, 403},
		"a part of the token":  {address[:len(address)-3] + "/", asIs, 403},
		"style without token":  {origin + "/style.css", asIs, 403},
		"another host":         {address, func(r *http.Request) { r.Host = "attacker.example.com" }, 421},
		"another port":         {address, func(r *http.Request) { r.Host = "127.0.0.1:1" }, 421},
		"another origin":       {address, func(r *http.Request) { r.Header.Set("Origin", "http://attacker.example.com") }, 403},
		"a null origin":        {address, func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"origin of a stream":   {address + "events", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		"a method that writes": {address, func(r *http.Request) { r.Method = http.MethodPost }, 405},
		"a body": {address, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("a")), 1
		}, 413},
		"no such page":   {address + "none", asIs, 404},
		"another folder": {address + "../page.html", asIs, 404},
	} {
		code, got, body := get(t, test.address, test.edit)
		if code != test.code {
			t.Errorf("%s: %d, want %d: %.200s", name, code, test.code, body)
		}
		if !strings.HasPrefix(got, "default-src 'none'; ") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", name, got)
		}
	}
}

func TestWordsOfObjectsAreShownAsTextOnEachPage(t *testing.T) {
	t.Parallel()
	address := serve(t, shop())
	for page, wants := range map[string][]string{
		"?object=ExternalService/shop/db": {"Why ExternalService shop/db is Failed", "gate database", "aria-selected=\"true\"", "To do: "},
		"graph":                           {"<b>api</b>", "gate database"},
		"timeline":                        {"<td>failover</td>", "ExternalService shop/db"},
		"?object=" + "%3Cscript%3Ealert(%221%22)%3C/script%3E&filter=%22%3E%3Cscript%3Ealert(%221%22)": nil,
	} {
		code, _, body := get(t, address+page, asIs)
		if code != http.StatusOK || strings.Contains(body, "<script>") || strings.Contains(body, `"><script`) {
			t.Errorf("%s: %d, %s", page, code, body)
		}
		for _, banned := range []string{" style=", " onclick=", "https://", "http://"} {
			if strings.Contains(body, banned) {
				t.Errorf("%s has %q", page, banned)
			}
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q: %s", page, want, body)
			}
		}
	}
}

func TestAFilterKeepsWhatIsAboveAMatch(t *testing.T) {
	t.Parallel()
	address := serve(t, shop())
	_, _, body := get(t, address+"?filter=rebootpolicy+shop", asIs)
	if !strings.Contains(body, "<b>api</b>") || !strings.Contains(body, "<b>db</b>") || strings.Contains(body, "Deployment</span>") {
		t.Error(body)
	}
	if _, _, body = get(t, address+"?first=9223372036854775807", asIs); strings.Contains(body, ">Next<") {
		t.Error(body)
	}
	if _, _, body = get(t, address+"?filter=none", asIs); !strings.Contains(body, "There is no such object") {
		t.Error(body)
	}
}

func TestWhatCannotBeReadIsNamedAndNeverHealthy(t *testing.T) {
	t.Parallel()
	c := shop()
	c.refuse["externalservices"], c.refuse["chaospods"] = 403, 404
	address := serve(t, c)
	for _, page := range []string{"", "graph", "timeline"} {
		_, _, body := get(t, address+page, asIs)
		if !strings.Contains(body, "chaospods.chaos.fairlead.dev is not installed") {
			t.Errorf("%q: %s", page, body)
		}
	}
	_, _, body := get(t, address+"?object=ExternalService/shop/db", asIs)
	for _, want := range []string{"grant list and watch on externalservices.networking.fairlead.dev", "Why ExternalService shop/db is Unknown"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q: %s", want, body)
		}
	}
}

func TestAPageLearnsOfAChangeByTheWatch(t *testing.T) {
	t.Parallel()
	c := shop()
	address := serve(t, c)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // a stream
	lines := bufio.NewScanner(response.Body)
	if !lines.Scan() || lines.Text() != ": open" {
		t.Fatal(lines.Text(), lines.Err())
	}
	eventually(t, func() bool { // the watch has begun
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.watches["externalservices"]) > 0
	})
	db, is := c.objects["externalservices"][0].DeepCopyObject().(*networkingv1.ExternalService)
	if !is {
		t.Fatal("no ExternalService")
	}
	db.Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: "True", Reason: "Published"}
	c.change("externalservices", db)
	for lines.Scan() && lines.Text() != "event: change" {
	}
	if _, _, body := get(t, address+"?object=ExternalService/shop/db", asIs); !strings.Contains(body, "Why ExternalService shop/db is Healthy") {
		t.Error(body)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := NewServer(Options{})
	for range maxStreams {
		if _, isOpen := s.streams.add(); !isOpen {
			t.Fatal("too few")
		}
	}
	w := httptest.NewRecorder()
	s.streams.serve(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Code != http.StatusServiceUnavailable {
		t.Error(w.Code)
	}
}

func TestObjectsAreUnknownOnceTheAPIServerIsGone(t *testing.T) {
	t.Parallel()
	c := shop()
	api := httptest.NewServer(c)
	from, err := inspect.NewClient(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	live, err := inspect.Follow(ctx, from, "shop", func() {})
	if err != nil {
		t.Fatal(err)
	}
	_ = api.Listener.Close()
	api.CloseClientConnections()
	key := inspect.Key{Kind: inspect.ExternalService, Namespace: "shop", Name: "db"}
	eventually(t, func() bool {
		api.CloseClientConnections()
		o := inspect.New(live.Snapshot()).Find(key)
		return o != nil && o.Health == inspect.Unknown && strings.HasPrefix(o.Said, "not read since ")
	})
}

func TestAnAPIServerThatIsAwayAtFirstIsAnError(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.NotFoundHandler())
	api.Close()
	from, err := inspect.NewClient(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	err = NewServer(Options{From: from}).Run(t.Context(), func(string) { t.Error("a page is served") })
	if err == nil || !strings.Contains(err.Error(), "the API server does not answer") {
		t.Error(err)
	}
}
