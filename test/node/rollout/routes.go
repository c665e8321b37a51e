// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// routes follows, from the kernel's own notices, to which pods a Service leads, and how late that
// changes after a pod has stopped being ready.
type routes struct {
	chain string // part of the name of the Service's chain, as kube-proxy writes it

	mu      sync.Mutex // guards what follows
	now     []string   // addresses that new connections are sent to
	pending map[string]departure
	removed map[string]bool // addresses that left before anybody said why
	lags    []lag
}

// departure of a pod from those that are ready.
type departure struct {
	cause string
	at    time.Time
}

// lag is how long after a departure the last new connection could be sent to the pod.
type lag struct {
	address, cause string
	took           time.Duration
}

func newRoutes(namespace, service string) *routes {
	return &routes{chain: namespace + "/" + service + "/", pending: map[string]departure{}, removed: map[string]bool{}}
}

// watch follows the kernel's notices until ctx ends.
func (r *routes) watch(ctx context.Context, nft string, environment []string) error {
	monitor := exec.CommandContext(ctx, nft, "monitor", "rules")
	monitor.Env = environment
	monitor.WaitDelay = time.Second
	notices, err := monitor.StdoutPipe()
	if err != nil {
		return fmt.Errorf("watch the rules: %w", err)
	}
	if err := monitor.Start(); err != nil {
		return fmt.Errorf("watch the rules: %w", err)
	}
	r.follow(notices, time.Now)
	if err := monitor.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the rules: nft monitor: %w", err)
	}
	return nil
}

func (r *routes) follow(notices io.Reader, now func() time.Time) {
	lines := bufio.NewScanner(notices)
	lines.Buffer(nil, 1<<20) // a chain's rule names all of its endpoints
	for lines.Scan() {
		if addresses, ours := r.parse(lines.Text()); ours {
			r.lead(addresses, now())
		}
	}
}

var address = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`)

// parse returns the addresses that a new rule of the Service sends connections to. kube-proxy replaces
// the rule whenever they change:
//
//	add rule ip kube-proxy service-4UBW5KYF-shop/web/tcp/http meta l4proto tcp dnat ip to
//	  numgen random mod 2 map { 0 : 10.244.1.2 . 8080, 1 : 10.244.1.3 . 8080 }
func (r *routes) parse(notice string) (addresses []string, ours bool) {
	name, rule, found := strings.Cut(notice, " dnat ")
	if !found || !strings.HasPrefix(name, "add rule ip kube-proxy service-") || !strings.Contains(name, "-"+r.chain) {
		return nil, false
	}
	return address.FindAllString(rule, -1), true
}

// lead notes where the Service leads now.
func (r *routes) lead(addresses []string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, former := range r.now {
		if slices.Contains(addresses, former) {
			continue
		}
		if d, known := r.pending[former]; known {
			r.lags = append(r.lags, lag{former, d.cause, now.Sub(d.at)})
			delete(r.pending, former)
		} else {
			r.removed[former] = true
		}
	}
	for _, current := range addresses {
		delete(r.removed, current)
	}
	r.now = addresses
}

// departs notes that the pod at an address stopped being ready. Where the kernel's notice was faster
// than that of the API server, there was no lag.
func (r *routes) departs(address, cause string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed[address] {
		r.lags = append(r.lags, lag{address, cause, 0})
		delete(r.removed, address)
		return
	}
	if _, known := r.pending[address]; !known && slices.Contains(r.now, address) {
		r.pending[address] = departure{cause, now}
	}
}

// returns notes that the pod at an address is ready.
func (r *routes) returns(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, address)
}

// leads says whether new connections may be sent to an address.
func (r *routes) leads(address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.now, address)
}

// take returns the lags since the last call, the shortest first.
func (r *routes) take() []lag {
	r.mu.Lock()
	defer r.mu.Unlock()
	lags := r.lags
	r.lags = nil
	slices.SortFunc(lags, func(a, b lag) int { return int(a.took - b.took) })
	return lags
}
