// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"fmt"
	"net/http"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// ForConfig returns a configuration whose clients share one Transport, and no connection with any other client.
// Options.New is the configuration's: credentials and wrappers of transports stay as they are.
func ForConfig(api *rest.Config, o Options) (*rest.Config, *Transport, error) {
	if err := setPings(); err != nil {
		return nil, nil, err
	}
	found, err := api.TransportConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("transport to the API server: %w", err)
	}
	bare := &transport.Config{TLS: found.TLS, DialHolder: found.DialHolder, DisableCompression: found.DisableCompression, Proxy: found.Proxy}
	if bare.Proxy == nil {
		bare.Proxy = http.ProxyFromEnvironment // client-go's default; a transport with a named one is not shared
	}
	o.New = func() (http.RoundTripper, error) { return transport.New(bare) }
	made, err := New(o)
	if err != nil {
		return nil, nil, err
	}
	api = rest.CopyConfig(api)
	wrap := api.WrapTransport
	api.WrapTransport = func(http.RoundTripper) http.RoundTripper {
		if wrap != nil {
			return wrap(made)
		}
		return made
	}
	return api, made, nil
}

// pings are the variables by which client-go takes how long a connection may be silent before it is tried by a ping of
// HTTP/2, and how long that may take, in seconds. Its defaults, 30 and 15, are longer than a Lease lasts.
var pings = map[string]string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "5", "HTTP2_PING_TIMEOUT_SECONDS": "3"}

// setPings leaves alone what the user has set.
func setPings() error {
	for name, seconds := range pings {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, seconds); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
