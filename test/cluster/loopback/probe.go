// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// probe keeps asking one backend whether it is ready.
type probe struct {
	backend  Backend
	interval time.Duration
	timeout  time.Duration
	client   http.Client
	ready    atomic.Bool
	ctx      context.Context
	cancel   context.CancelFunc
}

func newProbe(ctx context.Context, backend Backend, interval, timeout time.Duration) *probe {
	p := &probe{backend: backend, interval: interval, timeout: timeout}
	// A fresh connection each time, as kubelet does: a kept one would outlive the listener it was
	// made to. And no proxy, wherever the environment points.
	p.client.Transport = &http.Transport{DisableKeepAlives: true}
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// run asks until the probe is canceled.
func (p *probe) run() {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-p.ctx.Done():
			p.ready.Store(false)
			return
		case <-ticker.C:
			p.ask()
		}
	}
}

func (p *probe) ask() {
	ctx, cancel := context.WithTimeout(p.ctx, p.timeout)
	defer cancel()
	p.ready.Store(p.answersOK(ctx))
}

func (p *probe) answersOK(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.backend.Readyz, nil)
	if err != nil {
		return false
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
