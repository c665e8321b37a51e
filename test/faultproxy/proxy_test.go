// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	configMap = "/api/v1/namespaces/shop/configmaps/a"
	lease     = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/a"
	list      = "/api/v1/configmaps"
	watch     = "/api/v1/namespaces/shop/configmaps?watch=true&fieldSelector=metadata.name%3Da"
)

// bench is a proxy before a server that returns the path, and whose watches send what a test says.
type bench struct {
	*testing.T
	*Proxy
	events chan []byte
	client *http.Client
	host   string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, events: make(chan []byte)}
	server := framework.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, r.URL.Path)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		for {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case event := <-b.events:
				_, _ = w.Write(event)
			}
		}
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	upstream := filepath.Join(folder, "user.kubeconfig")
	b.must(os.WriteFile(upstream, []byte(framework.KubeconfigOf(server.URL)), 0o600))
	var err error
	b.Proxy, err = Listen(cluster.User{Kubeconfig: upstream}, folder)
	b.must(err)
	t.Cleanup(b.Close)
	b.client, b.host = b.newClient()
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// newClient has connections of its own.
func (b *bench) newClient() (*http.Client, string) {
	b.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig)
	b.must(err)
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // client-go shares no transport then
	client, err := rest.HTTPClientFor(config)
	b.must(err)
	return client, config.Host
}

func (b *bench) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.host+path, nil)
	b.must(err)
	request.Header.Set("Accept", "application/json")
	return b.client.Do(request)
}

// body returns the response body of a request.
func (b *bench) body(path string) string {
	b.Helper()
	response, err := b.get(b.Context(), path)
	b.must(err)
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	b.must(err)
	return string(read)
}

// hangs fails the test unless a request has no answer after a while.
func (b *bench) hangs(path string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 50*time.Millisecond)
	defer cancel()
	response, err := b.get(ctx, path)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		b.Errorf("%s was answered: %v", path, err)
	}
}

// read gets the lines of a watch.
func (b *bench) read(path string) <-chan string {
	b.Helper()
	response, err := b.get(b.Context(), path)
	b.must(err)
	b.Cleanup(func() { _ = response.Body.Close() })
	lines := make(chan string, 10)
	go func() {
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func TestRequestsAreForwardedByHTTP2AndCounted(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{configMap, configMap, lease, list, "/version"} {
		response, err := b.get(t.Context(), path)
		b.must(err)
		read, err := io.ReadAll(response.Body)
		b.must(err)
		b.must(response.Body.Close())
		if string(read) != path || response.ProtoMajor != 2 {
			t.Errorf("%s: %q by %s", path, read, response.Proto)
		}
	}
	want := map[string]int{"get configmaps": 2, "get leases.coordination.k8s.io": 1, "list configmaps": 1, "get /version": 1}
	if got := b.Counts(); !maps.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if b.Connections() != 1 {
		t.Errorf("%d connections", b.Connections())
	}
}

func TestAFaultStrikesWhatItMatchesUntilItIsLifted(t *testing.T) {
	b := newBench(t)
	fault := b.Add(Fault{Match: Is("get configmaps"), Answer: Page(http.StatusNotFound)})
	if got := b.body(configMap); !strings.Contains(got, "<h1>404 Not Found") {
		t.Errorf("answer %q", got)
	}
	if got := b.body(lease); got != lease {
		t.Errorf("answer to another request: %q", got)
	}
	status := b.Add(Fault{Match: Reads("configmaps"), Answer: Status(http.StatusForbidden), Times: 1})
	if got := b.body(configMap); !strings.Contains(got, `"reason":"Forbidden","details":{"name":"a","kind":"configmaps"}`) {
		t.Errorf("answer %q", got)
	}
	if got := b.body(configMap); !strings.Contains(got, "<h1>404") || status.Struck() != 1 || fault.Struck() != 2 {
		t.Errorf("answer %q, struck %d and %d", got, status.Struck(), fault.Struck())
	}
	fault.Lift()
	fault.Lift()
	if got := b.body(configMap); got != configMap {
		t.Errorf("answer %q after the fault", got)
	}
}

func TestAnswersAreDelayedAndHeldBack(t *testing.T) {
	b := newBench(t)
	slow := b.Add(Fault{Match: Any, Delay: 100 * time.Millisecond})
	began := time.Now()
	if got := b.body(configMap); got != configMap || time.Since(began) < 100*time.Millisecond {
		t.Errorf("%q after %s", got, time.Since(began))
	}
	slow.Lift()
	silent := b.Add(Fault{Match: Any, Silent: true})
	b.hangs(configMap)
	time.AfterFunc(50*time.Millisecond, silent.Lift)
	if got := b.body(configMap); got != configMap {
		t.Errorf("answer %q", got)
	}
}

func TestASilentConnectionIsNotClosedAndNewOnesWork(t *testing.T) {
	b := newBench(t)
	b.body(configMap)
	other, _ := b.newClient()
	kept := b.client
	b.client = other
	b.body(lease)
	if n := b.SilenceConnections(Is("get leases.coordination.k8s.io")); n != 1 {
		t.Errorf("silenced %d", n)
	}
	b.hangs(configMap)
	b.client = kept
	b.body(configMap)
	if n := b.SilenceConnections(Any); n != 1 {
		t.Errorf("silenced %d", n)
	}
	b.hangs(configMap)
	b.client, _ = b.newClient()
	b.body(configMap)
	if b.Connections() != 3 {
		t.Errorf("%d connections", b.Connections())
	}
}

func TestOpenWatchesAreMutedAndLoseEvents(t *testing.T) {
	b := newBench(t)
	lines := b.read(watch)
	b.events <- []byte("one\n")
	if got := <-lines; got != "one" {
		t.Errorf("event %q", got)
	}
	mute := b.Add(Fault{Match: func(r Request) bool { return r.Verb == "watch" && r.Name == "a" }, Mute: true})
	b.events <- []byte("two\n")
	select {
	case got := <-lines:
		t.Errorf("a muted watch passed %q", got)
	case <-time.After(50 * time.Millisecond):
	}
	mute.Lift()
	if got := <-lines; got != "two" {
		t.Errorf("event %q", got)
	}
	lose := b.Add(Fault{Match: Any, Lose: true})
	b.events <- []byte("three\n")
	for deadline := time.Now().Add(20 * time.Second); lose.Struck() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no event was lost")
		}
		<-time.After(time.Millisecond)
	}
	lose.Lift()
	b.events <- []byte("four\n")
	if got := <-lines; got != "four" {
		t.Errorf("event %q", got)
	}
}

func TestEventsInProtobufAreWhole(t *testing.T) {
	events := [][]byte{[]byte("first"), {}, []byte(strings.Repeat("x", 2*chunkSize))}
	var stream []byte
	for _, event := range events {
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(event))), event...)
	}
	reader := bufio.NewReader(strings.NewReader(string(stream)))
	for _, want := range events {
		if got, err := readFrame(reader); err != nil || string(got[4:]) != string(want) {
			t.Errorf("frame %q: %v", got, err)
		}
	}
	if _, err := readFrame(reader); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

func TestABodyIsSlowed(t *testing.T) {
	b := newBench(t)
	b.Add(Fault{Match: Is("list configmaps"), Rate: 10 * len(list)})
	began := time.Now()
	if got := b.body(list); got != list || time.Since(began) < 100*time.Millisecond {
		t.Errorf("%q after %s", got, time.Since(began))
	}
}

func TestRequestsAreNamedAsRBACDoes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, url, want, namespace, name string }{
		{"GET", "/api/v1/pods", "list pods", "", ""},
		{"GET", "/api/v1/namespaces/a", "get namespaces", "", "a"},
		{"GET", "/api/v1/namespaces/a/pods/b", "get pods", "a", "b"},
		{"POST", "/api/v1/namespaces/a/pods/b/eviction", "create pods/eviction", "a", "b"},
		{"GET", watch, "watch configmaps", "shop", "a"},
		{"GET", "/apis/apps/v1/deployments?watch=1", "watch deployments.apps", "", ""},
		{"PATCH", "/apis/x.dev/v1/namespaces/a/things/b/status", "patch things.x.dev/status", "a", "b"},
		{"PUT", lease, "update leases.coordination.k8s.io", "shop", "a"},
		{"DELETE", "/apis/x.dev/v1/namespaces/a/things", "deletecollection things.x.dev", "a", ""},
		{"DELETE", configMap, "delete configmaps", "shop", "a"},
		{"GET", "/apis/x.dev/v1", "get /apis/x.dev/v1", "", ""},
		{"GET", "/api/v1", "get /api/v1", "", ""},
		{"GET", "/version", "get /version", "", ""},
		{"GET", "/", "get /", "", ""},
	} {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		got := requestOf(test.method, u)
		if got.String() != test.want || got.Namespace != test.namespace || got.Name != test.name {
			t.Errorf("%s %s is %q of %q, %q", test.method, test.url, got, got.Namespace, got.Name)
		}
	}
	pods := Request{Verb: "delete", Resource: "pods"}
	if !Any(pods) || !Is("delete pods")(pods) || Is("list pods")(pods) || Reads("pods")(pods) {
		t.Error("the wrong requests match")
	}
}
