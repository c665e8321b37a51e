// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// checker is an HTTP endpoint beside a server. It asks the server for its role at each request.
type checker struct {
	replies atomic.Int64 // that the server decided
}

// serve listens at a port of the host's address outside. The status is 200 for a path whose role the server has, and else 503.
// replica reports whether the server is one.
func (c *checker) serve(h *host, port int, roles map[string]bool, replica func(context.Context) (bool, error)) {
	h.Helper()
	local, err := externalnet.LocalPort(netip.MustParseAddrPort(net.JoinHostPort(h.address, strconv.Itoa(port))))
	h.Must(err)
	listener, err := net.Listen("tcp4", local.String())
	h.Must(err)
	handler := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 900*time.Millisecond)
		defer cancel()
		is, err := replica(ctx)
		if err == nil {
			c.replies.Add(1)
		}
		if wanted, known := roles[r.URL.Path]; err != nil || !known || is != wanted {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(listener) })
	h.Cleanup(func() {
		_ = server.Close()
		work.Wait()
	})
}

// checked counts the checks that a running server decided.
func (c *checker) checked() int64 { return c.replies.Load() }
