// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// connection is how the API server is reached.
type connection struct {
	rest   *rest.Config
	origin string // where it was found, for errors
}

// connect finds the API server: the kubeconfig that was named, KUBECONFIG, the pod's service
// account, or ~/.kube/config. It reads files and sends nothing.
func connect(c options.ClientConnection, userAgent string) (*connection, error) {
	found, err := locate(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	found.rest.UserAgent = userAgent
	return found, nil
}

func locate(kubeconfig string) (*connection, error) {
	if kubeconfig != "" {
		return fromFile(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, "kubeconfig "+kubeconfig)
	}
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); env != "" {
		rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(env), WarnIfAllMissing: false}
		return fromFile(rules, "KUBECONFIG "+env)
	}
	switch inside, err := rest.InClusterConfig(); {
	case err == nil:
		return &connection{inside, "service account of the pod"}, nil
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("service account of the pod: %w", err)
	}
	home := clientcmd.RecommendedHomeFile
	if _, err := os.Stat(home); err != nil {
		return nil, errors.New("no cluster: there is no --kubeconfig, no KUBECONFIG variable, no service account of a pod and no " + home)
	}
	return fromFile(&clientcmd.ClientConfigLoadingRules{ExplicitPath: home}, "kubeconfig "+home)
}

func fromFile(rules *clientcmd.ClientConfigLoadingRules, origin string) (*connection, error) {
	loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return &connection{loaded, origin}, nil
}

// forControllers is the configuration of the reconcilers' client.
func (c *connection) forControllers(by options.ClientConnection) *rest.Config {
	limited := rest.CopyConfig(c.rest)
	limited.QPS, limited.Burst = by.QPS, by.Burst
	return limited
}

// withoutLimit is the configuration for election, certificates and the metrics server, which send
// little and must not queue behind reconcilers.
func (c *connection) withoutLimit() *rest.Config {
	unlimited := rest.CopyConfig(c.rest)
	unlimited.QPS = -1
	return unlimited
}

// ownConnections has requests share no connection with those of another configuration: over HTTP/2, client-go sends
// all requests of equal configurations through one, and what floods it delays the rest.
func ownConnections(api *rest.Config) *rest.Config {
	api = rest.CopyConfig(api)
	api.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return api
}

// binary asks for protobuf, which the kinds of Kubernetes can be read in and ours cannot.
func binary(api *rest.Config) *rest.Config {
	api = rest.CopyConfig(api)
	api.ContentType = runtime.ContentTypeProtobuf
	api.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return api
}

// writeFence refuses what a replica that does not lead would write. Reconcilers are stopped when the
// Lease is lost; this holds also for one that was stopped in the middle, with its whole process, and
// goes on after another replica has begun.
type writeFence struct {
	next  http.RoundTripper
	check writeCheck
}

// writeCheck returns why a write must not be sent, or what to call when it has ended.
type writeCheck func(*http.Request) (end func(), err error)

// leaderCheck is the check of an elector, which may be nil, as one of every write.
func leaderCheck(check func() error) writeCheck {
	if check == nil {
		return nil
	}
	return func(*http.Request) (func(), error) { return func() {}, check() }
}

// fenceWrites puts the check in front of every write of a client. A nil check lets everything pass.
func fenceWrites(api *rest.Config, check writeCheck) *rest.Config {
	if check == nil {
		return api
	}
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper { return &writeFence{next, check} })
	return api
}

func (f *writeFence) RoundTrip(r *http.Request) (*http.Response, error) {
	if isWrite(r) {
		end, err := f.check(r)
		if err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // which a RoundTripper owes
			}
			return nil, fmt.Errorf("not sent: %w", err)
		}
		defer end()
	}
	return f.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (f *writeFence) WrappedRoundTripper() http.RoundTripper { return f.next }

// isWrite reports whether a request changes anything that matters. Events are recorded after the fact, by a
// goroutine that would try again and again.
func isWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return !strings.Contains(r.URL.Path, "/apis/events.k8s.io/")
	default:
		return false
	}
}

// watchEndTransport has a watch that we end end, where it would fail otherwise. client-go makes an event of
// the failure, and the filter that controller-runtime puts around watches of metadata waits for ever
// for a receiver (k8s.io/apimachinery/pkg/watch, filteredWatch): a goroutine and its buffers
// for each such watch of each term.
type watchEndTransport struct{ next http.RoundTripper }

func endWatches(api *rest.Config) *rest.Config {
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper { return &watchEndTransport{next} })
	return api
}

func (w *watchEndTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	// Only a watch: a list that ends early must fail.
	if err == nil && r.URL.Query().Has("watch") {
		response.Body = &watchBody{response.Body, r.Context()}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (w *watchEndTransport) WrappedRoundTripper() http.RoundTripper { return w.next }

type watchBody struct {
	io.ReadCloser
	ctx context.Context // that of the request
}

func (b *watchBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}
