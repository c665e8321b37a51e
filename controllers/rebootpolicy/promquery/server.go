// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/outbound"
)

const (
	// timeout of a query, and maxBody of a response, in bytes: a server that ignores limit=1 may return many series.
	timeout = 5 * time.Second
	maxBody = 4 << 20
)

// Server is a Prometheus server, or another one with the HTTP API of Prometheus. Its URL does not include /api/v1, such as
// https://prometheus.monitoring.svc:9090.
type Server struct {
	outbound.Endpoint
	// NamespaceParameter is the parameter of the URL that has the namespace of the policy. Defaults to none.
	NamespaceParameter string
}

// evaluator evaluates one query. The error says why its gate is closed, and contains no metrics: the writer of the policy may not be
// allowed to read them.
type evaluator func(ctx context.Context, q query) (returns bool, err error)

func (s Server) evaluator() evaluator {
	client := s.Client()
	return func(ctx context.Context, q query) (bool, error) {
		via, err := client()
		if err != nil {
			return false, fmt.Errorf("the operator cannot use its rebootPolicies.prometheus: %w", err)
		}
		own := *via
		own.Transport = &namespaced{via.Transport, s.NamespaceParameter}
		server, err := api.NewClient(api.Config{Address: s.URL, Client: &own})
		if err != nil {
			return false, fmt.Errorf("the operator cannot use its rebootPolicies.prometheus.url: %w", err)
		}
		return evaluate(ctx, prometheusv1.NewAPI(server), q)
	}
}

func evaluate(ctx context.Context, server prometheusv1.API, q query) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, namespaceKey{}, q.namespace), timeout)
	defer cancel()
	value, warnings, _, err := server.Query(ctx, q.text, time.Time{}, prometheusv1.WithLimit(1), prometheusv1.WithTimeout(timeout))
	if err != nil {
		return false, explain(err)
	}
	vector, is := value.(model.Vector)
	if !is {
		return false, fmt.Errorf("its query returns a %s: write one that returns an instant vector, such as vector(1) > 0", value.Type())
	}
	if len(vector) == 0 && len(warnings) > 0 { // such as of a store that did not answer
		return false, errors.New("the Prometheus server warns that its result may be incomplete")
	}
	return len(vector) > 0, nil
}

// statusError matches the client library's error for a response that has no error message.
var statusError = regexp.MustCompile(`^(client|server) error: \d{3}$`)

// explain removes the server's message, which may quote metrics. That of a query which cannot be parsed is kept.
func explain(err error) error {
	const server = "the Prometheus server "
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New(server + "did not answer within " + string(common.DurationOf(timeout)))
	}
	if of, is := errors.AsType[*prometheusv1.Error](err); is {
		switch of.Type {
		case prometheusv1.ErrBadData:
			return errors.New("its query is refused: " + of.Msg)
		case prometheusv1.ErrBadResponse:
			return errors.New(server + "responds with what is no result of a query")
		}
		if statusError.MatchString(of.Msg) {
			return errors.New(server + "responds with a " + of.Msg)
		}
		return errors.New(server + "cannot run its query: " + string(of.Type))
	}
	if of, is := errors.AsType[*url.Error](err); is { // without the URL, which is the administrator's
		return fmt.Errorf("%scannot be reached: %w", server, of.Err)
	}
	return errors.New(server + "responds with what cannot be read")
}

type namespaceKey struct{}

// namespaced adds the namespace of a query to its URL, and bounds the response.
type namespaced struct {
	next      http.RoundTripper
	parameter string
}

func (n *namespaced) RoundTrip(request *http.Request) (*http.Response, error) {
	if n.parameter != "" {
		namespace, is := request.Context().Value(namespaceKey{}).(string)
		if !is || namespace == "" {
			return nil, errors.New("the namespace of the query is not known")
		}
		request = request.Clone(request.Context())
		parameters := request.URL.Query()
		parameters.Set(n.parameter, namespace)
		request.URL.RawQuery = parameters.Encode()
	}
	response, err := n.next.RoundTrip(request)
	if response != nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	}
	return response, err
}
