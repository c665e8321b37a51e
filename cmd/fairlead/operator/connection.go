// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/apitransport"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// connection holds the configurations of the clients of the API server.
type connection struct {
	rest   *rest.Config // of all clients except that of the election
	origin string       // where the configuration was found, for errors

	found     *rest.Config // the configuration without changes
	transport *apitransport.Transport
	metrics   *apitransport.Metrics
	silence   time.Duration // of watches; 0 for the default
}

// connect finds the API server: the kubeconfig that was named, KUBECONFIG, the pod's service
// account, or ~/.kube/config. It reads files and sends nothing.
func connect(c options.ClientConnection, userAgent string, silence time.Duration) (*connection, error) {
	api, err := locate(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	api.found.UserAgent = userAgent
	api.metrics, api.silence = apitransport.NewMetrics(), silence
	if api.rest, api.transport, err = apitransport.ForConfig(api.found,
		apitransport.Options{Silence: silence, Metrics: api.metrics}); err != nil {
		return nil, fmt.Errorf("%s: %w", api.origin, err)
	}
	return api, nil
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
		return &connection{found: inside, origin: "service account of the pod"}, nil
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
	return &connection{found: loaded, origin: origin}, nil
}

// forControllers returns the configuration of the reconcilers' client.
func (c *connection) forControllers(by options.ClientConnection) *rest.Config {
	limited := rest.CopyConfig(c.rest)
	limited.QPS, limited.Burst = by.QPS, by.Burst
	return limited
}

// separate returns the configuration withoutLimit for clients with connections of their own. If many requests fill one
// connection, or it dies silently, the clients of other connections are not delayed. patience is Patience of
// apitransport.Options.
func (c *connection) separate(patience time.Duration) (*rest.Config, error) {
	api, _, err := apitransport.ForConfig(c.found, apitransport.Options{Patience: patience, Silence: c.silence, Metrics: c.metrics})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.origin, err)
	}
	api.QPS = -1
	return api, nil
}

// status returns the address of the API server, and what is wrong with the connection to it.
func (c *connection) status() string {
	if problem := c.transport.Status(); problem != "" {
		return c.rest.Host + ": " + problem
	}
	return c.rest.Host
}

// withoutLimit returns a configuration without a rate limit, for certificates and the metrics server. They send few
// requests, which must not queue behind those of reconcilers.
func (c *connection) withoutLimit() *rest.Config {
	unlimited := rest.CopyConfig(c.rest)
	unlimited.QPS = -1
	return unlimited
}

// binary requests protobuf, which the API server supports for the kinds of Kubernetes and not for custom resources.
func binary(api *rest.Config) *rest.Config {
	api = rest.CopyConfig(api)
	api.ContentType = runtime.ContentTypeProtobuf
	api.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return api
}

// attemptTimeout bounds one request. A slower API server is of no use.
const attemptTimeout = 15 * time.Second

// apiServerWait waits until the API server responds, within a limit. A limit that is too long hides a wrong address,
// and one that is too short does not outlast a restart of the API server.
type apiServerWait struct {
	client  rest.Interface
	server  string
	origin  string
	limit   time.Duration
	first   time.Duration // the first pause; 0 means 100 ms
	startup *startup
	logger  logr.Logger
}

func (a apiServerWait) wait(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	var reason error
	err := retry.Until(bounded, retry.Policy{
		MinDelay: cmp.Or(a.first, 100*time.Millisecond), MaxDelay: 5 * time.Second, AttemptTimeout: -1,
		OnRetry: func(err error, _ time.Duration) {
			a.startup.progress(phaseAPIServer, fmt.Sprintf("%s does not answer: %v", a.server, err))
			a.logger.Info("the API server does not answer yet", "server", a.server, "reason", err.Error())
		},
	}, func(ctx context.Context) error {
		err := a.ping(ctx)
		if err != nil && (reason == nil || ctx.Err() == nil) { // an attempt that the limit cut off has no reason of its own
			reason = err
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("the API server %s (%s) does not answer, tried for %s: %w; check its address, or allow it more time by clientConnection.startTimeout",
		a.server, a.origin, a.limit, cmp.Or(reason, err))
}

// ping requests the version, which every authenticated user may read. A refusal is a response as well, except for 401:
// then nothing else would work.
func (a apiServerWait) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := a.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch code := status.Status().Code; {
		case code == http.StatusUnauthorized, code == http.StatusTooManyRequests, code >= 500:
			return err
		}
		return nil
	}
	return err
}

// writeFence refuses writes of a replica that does not lead. Reconcilers stop when the Lease is lost. A process that
// was suspended in the middle of a reconcile continues after another replica leads; the fence stops its writes.
type writeFence struct {
	next  http.RoundTripper
	check func() error // returns why a write must not be sent; nil if it may
}

// fenceWrites calls check before every write of a client, which is not sent if check returns an error. With a nil
// check, every write is sent.
func fenceWrites(api *rest.Config, check func() error) *rest.Config {
	if check == nil {
		return api
	}
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper { return &writeFence{next, check} })
	return api
}

func (f *writeFence) RoundTrip(r *http.Request) (*http.Response, error) {
	if isWrite(r) {
		if err := f.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // which a RoundTripper owes
			}
			return nil, fmt.Errorf("not sent: %w", err)
		}
	}
	return f.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (f *writeFence) WrappedRoundTripper() http.RoundTripper { return f.next }

// isWrite reports whether the fence applies to a request. It does not apply to Events: they are recorded after the
// fact, by a goroutine that would retry without end.
func isWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return !strings.Contains(r.URL.Path, "/apis/events.k8s.io/")
	default:
		return false
	}
}
