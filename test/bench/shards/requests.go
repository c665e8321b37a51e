// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

const (
	// requestEvery is the time between two requests.
	requestEvery = 5 * time.Millisecond
	// requestTimeout is how long a connection may take to be accepted.
	requestTimeout = 2 * time.Second
	// requestsAtOnce wait for that; with more, the next request waits.
	requestsAtOnce = 64
)

// requests are connections to ready endpoints, as kube-proxy chooses them.
type requests struct {
	mu         sync.Mutex // guards what follows
	sent, lost int
	first      error // the first that was lost
}

// send sends requests to all Services at random, until ctx ends.
func (r *run) send(ctx context.Context, all *requests) error {
	var sending errgroup.Group
	sending.SetLimit(requestsAtOnce)
	ticker := time.NewTicker(requestEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			n := rand.IntN(r.options.Checked) //nolint:gosec // no secret
			sending.Go(func() error {
				all.count(r.request(context.WithoutCancel(ctx), n)) // the end of the load is no loss
				return nil
			})
		}
	}
	return sending.Wait()
}

// request connects to an endpoint of the Service of an ExternalService.
func (r *run) request(ctx context.Context, n int) error {
	service := fmt.Sprintf("fleet-%d", n)
	ready, err := r.view.endpoints(namespace(n), service)
	if err != nil {
		return err
	}
	if len(ready) == 0 {
		return fmt.Errorf("service %s/%s has no ready endpoint", namespace(n), service)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	to := netip.AddrPortFrom(ready[rand.IntN(len(ready))], r.fleet.Port()) //nolint:gosec // no secret
	conn, err := externalnet.Dial(ctx, "tcp", to)
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace(n), service, err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetLinger(0) // or the port would be in use for another minute
	}
	return errors.Join(err, conn.Close())
}

func (all *requests) count(err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.sent++
	if err == nil {
		return
	}
	all.lost++
	if all.first == nil {
		all.first = fmt.Errorf("%s: %w", time.Now().Format(time.TimeOnly), err)
	}
}
