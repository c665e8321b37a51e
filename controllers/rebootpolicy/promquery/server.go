// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package promquery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// https://prometheus.monitoring.svc:9090. Each query has the parameters of the URL, such as deny_partial_response=1 of VictoriaMetrics.
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
		address, err := url.Parse(s.URL)
		if err != nil {
			return false, errors.New("the operator cannot use its rebootPolicies.prometheus.url")
		}
		own, sent := *via, &exchange{next: via.Transport, parameter: s.NamespaceParameter, parameters: address.Query()}
		own.Transport = sent
		address.RawQuery = ""
		server, err := api.NewClient(api.Config{Address: address.String(), Client: &own})
		if err != nil {
			return false, fmt.Errorf("the operator cannot use its rebootPolicies.prometheus.url: %w", err)
		}
		return evaluate(ctx, prometheusv1.NewAPI(server), q, sent.isPartial)
	}
}

// evaluate evaluates one query. isPartial reports whether the server says that a part of the result is missing.
func evaluate(ctx context.Context, server prometheusv1.API, q query, isPartial func() bool) (bool, error) {
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
	if len(vector) == 0 && (len(warnings) > 0 || isPartial()) { // such as of a store that did not answer
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

// exchange is one query. It adds the namespace and the parameters of the server to its URL, and bounds the response, which it keeps for
// isPartial.
type exchange struct {
	next       http.RoundTripper
	parameter  string
	parameters url.Values
	response   bytes.Buffer
}

func (e *exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	parameters := request.URL.Query()
	for name, values := range e.parameters {
		if !parameters.Has(name) {
			parameters[name] = values
		}
	}
	if e.parameter != "" {
		namespace, is := request.Context().Value(namespaceKey{}).(string)
		if !is || namespace == "" {
			return nil, errors.New("the namespace of the query is not known")
		}
		parameters.Set(e.parameter, namespace)
	}
	request.URL.RawQuery = parameters.Encode()
	response, err := e.next.RoundTrip(request)
	if response != nil {
		e.response.Reset() // of a method that the server does not allow
		body := http.MaxBytesReader(nil, response.Body, maxBody)
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, &e.response), body}
	}
	return response, err
}

// isPartial reports whether the response says that it lacks a part, by the member of VictoriaMetrics, which has no warning then
// (VictoriaMetrics/VictoriaMetrics#4721). The client library does not read it.
func (e *exchange) isPartial() bool {
	var response struct {
		IsPartial json.RawMessage `json:"isPartial"`
	}
	err := json.Unmarshal(e.response.Bytes(), &response)
	return err != nil || len(response.IsPartial) > 0 && string(response.IsPartial) != "false" && string(response.IsPartial) != "null"
}
