// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// Defaults of Options.
const (
	DefaultWorkers = 8
	DefaultRate    = 400
	DefaultObjects = 4
)

// unavailablePause is how long a worker leaves an API server alone that was away.
const unavailablePause = 100 * time.Millisecond

// Options of Run.
type Options struct {
	// Config reaches the API server, as a user who may do everything with Fairlead's kinds. Required.
	Config *rest.Config
	// Namespace is where the objects live. It must exist. Required.
	Namespace string
	// Counters counts the requests. Required.
	Counters *counters.Counters
	// Seed decides what is sent. Default 0.
	Seed uint64
	// Workers is how many requests are on their way at most. Default 8.
	Workers int
	// Rate is the maximal number of steps per second. A step is one request or two.
	// Default 400.
	Rate float32
	// Objects is how many objects of each kind a worker has at most. Default 4.
	Objects int
}

// load is one run.
type load struct {
	options Options
	base    string
	client  *http.Client
	limiter flowcontrol.RateLimiter
}

// Run sends requests until ctx ends, and returns when the last one was answered.
func Run(ctx context.Context, o Options) error {
	if o.Config == nil || o.Namespace == "" || o.Counters == nil {
		return errors.New("load: Config, Namespace and Counters are required")
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Objects == 0 {
		o.Objects = DefaultObjects
	}
	client, err := rest.HTTPClientFor(o.Config)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer client.CloseIdleConnections()
	l := &load{
		options: o, client: client, base: strings.TrimSuffix(o.Config.Host, "/"),
		limiter: flowcontrol.NewTokenBucketRateLimiter(o.Rate, o.Workers),
	}
	var workers sync.WaitGroup
	for i := range o.Workers {
		workers.Go(func() { newWorker(l, i).run(ctx) })
	}
	workers.Wait()
	return nil
}

// Once sends a dry run and a read by each version of each kind, so one of each request that calls a
// webhook of its own.
func Once(ctx context.Context, o Options) error {
	client, err := rest.HTTPClientFor(o.Config)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer client.CloseIdleConnections()
	w := newWorker(&load{options: o, client: client, base: strings.TrimSuffix(o.Config.Host, "/")}, probing)
	for _, k := range kinds {
		for _, version := range []string{hubVersion, spokeVersion} {
			w.send(ctx, w.dryRunAt(k, version))
		}
		w.send(ctx, w.list(k))
	}
	return nil
}

// probing is the number of the worker of Once.
const probing = 1_000
