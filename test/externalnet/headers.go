// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Headers serves HTTP at an address such as 192.0.2.50:80 until stop is called. It sends the headers of the first request to seen, and
// drops those of later ones.
func Headers(at string) (seen <-chan http.Header, stop func(), err error) {
	local, err := LocalPort(netip.MustParseAddrPort(at))
	if err != nil {
		return nil, nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", local.String())
	if err != nil {
		return nil, nil, err
	}
	first := make(chan http.Header, 1)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case first <- r.Header:
		default:
		}
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	return first, func() { _ = server.Close(); <-done }, nil
}
