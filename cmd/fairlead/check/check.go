// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// requestTimeout bounds a request. A dry run takes two webhooks of at most 5 s each, and a conversion.
	requestTimeout = 30 * time.Second
	// concurrency bounds the requests that are under way at a time.
	concurrency = 8
	// waitInterval is the time between two rounds of Wait.
	waitInterval = 2 * time.Second
)

// Options of a Checker.
type Options struct {
	// Kubernetes and Dynamic reach the API server; required.
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
	// Namespace is the one in which objects are created by a dry run; required. The webhooks must look at it.
	Namespace string
	// OperatorNamespace is the namespace of the operator. Defaults to the one that the CRDs name, or else the one that has
	// its Deployments.
	OperatorNamespace string
	// Dial connects to the Service of the webhooks, to see the certificate that is served. Defaults to none, since
	// only pods of the cluster reach it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Version of this binary, which is compared with that of the operator's images. Defaults to "": not compared.
	Version string
	// Clock judges certificates and the Lease. Defaults to the real one.
	Clock clock.WithTicker
}

// Checker checks an installation.
type Checker struct{ options Options }

// New returns a Checker. It sends nothing.
func New(o Options) *Checker {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Checker{options: o}
}

// NewForConfig returns a Checker that reaches the API server as the configuration says, with the other options as
// given.
func NewForConfig(config *rest.Config, o Options) (*Checker, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // what is asked for at a time is bounded
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{} // about the samples, which no user wrote
	var err error
	if o.Kubernetes, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if o.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	return New(o), nil
}

// run is one round of all checks.
type run struct {
	*Checker
	*installation
	results []Result
}

// Run makes all checks once. The error is that the API server does not answer, or that ctx has ended; the report
// holds what was found until then.
func (c *Checker) Run(ctx context.Context) (Report, error) {
	r := &run{Checker: c, installation: &installation{}}
	if err := c.ping(ctx); err != nil {
		return Report{Results: []Result{}}, err
	}
	for _, step := range []func(context.Context){
		r.findDefinitions, r.findDeployments, r.checkKinds, r.findOthers, r.checkDefinitions, r.checkDeployments, r.checkWebhooks,
		r.checkCertificates, r.checkDryRuns, r.checkLeases, r.checkRights, r.checkVersions,
	} {
		step(ctx)
		if ctx.Err() != nil {
			return r.report(), context.Cause(ctx)
		}
	}
	return r.report(), nil
}

// Wait makes all checks again and again until none fails and none is unchecked, or ctx ends. It returns the last
// whole report; the error is why there is none.
func (c *Checker) Wait(ctx context.Context) (Report, error) {
	ticker := c.options.Clock.NewTicker(waitInterval)
	defer ticker.Stop()
	var last *Report
	for {
		report, err := c.Run(ctx)
		if err == nil {
			last = &report
			if report.Count(Failed)+report.Count(Unchecked) == 0 {
				return report, nil
			}
		}
		select {
		case <-ctx.Done():
			if last != nil {
				return *last, nil
			}
			return report, err
		case <-ticker.C():
		}
	}
}

// ping asks for the version, which every authenticated user may.
func (c *Checker) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answered := make(chan error, 1)
	go func() { // the discovery client takes no context; the timeout of the configuration ends it
		_, err := c.options.Kubernetes.Discovery().ServerVersion()
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			return fmt.Errorf("the API server does not answer: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the API server does not answer: %w", context.Cause(ctx))
	}
}

// concurrently calls do for each of n numbers, several at a time.
func concurrently(n int, do func(i int)) {
	var group sync.WaitGroup
	for worker := range concurrency {
		group.Go(func() {
			for i := worker; i < n; i += concurrency {
				do(i)
			}
		})
	}
	group.Wait()
}

func (r *run) report() Report {
	if r.results == nil {
		r.results = []Result{}
	}
	report := Report{Namespace: r.namespace, Results: r.results}
	if len(r.deployments) > 0 {
		report.Kinds = r.deployments[0].configuration.KindsText()
	}
	return report
}

func (r *run) add(check, object string, status Status, message, remedy string) {
	r.results = append(r.results, Result{check, object, status, message, remedy})
}
