// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbound makes HTTP clients of what the administrator names in the operator's configuration, such as a Prometheus server.
// What users name in objects is reached by packages egress and probe instead.
package outbound

import (
	"net/http"
	"net/url"
	"sync"

	"k8s.io/client-go/transport"
)

// Endpoint is a server, and how it is reached.
type Endpoint struct {
	// URL of the server.
	URL string
	// CAFile has the certificates to trust, in PEM. It is read again when it changes. Defaults to those of the system.
	CAFile string
	// BearerTokenFile has the token to send. It is read again once a minute. Defaults to none.
	BearerTokenFile string
}

// Client returns a function that returns a client of the endpoint, always the same one. The client follows no redirects, which could
// lead anywhere with the token, and takes no proxy from the environment. Each request needs a deadline. The error is of a file that
// cannot be read: it is read again with the next call, so that a file that is missing at the start fails nothing else.
func (e Endpoint) Client() func() (*http.Client, error) {
	var mu sync.Mutex
	var made *http.Client
	return func() (*http.Client, error) {
		mu.Lock()
		defer mu.Unlock()
		var err error
		if made == nil {
			made, err = e.newClient()
		}
		return made, err
	}
}

func (e Endpoint) newClient() (*http.Client, error) {
	trip, err := transport.New(&transport.Config{
		TLS:             transport.TLSConfig{CAFile: e.CAFile, ReloadCAFiles: e.CAFile != ""},
		BearerTokenFile: e.BearerTokenFile, UserAgent: "fairlead",
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: trip, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}
