// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/test/bench/subject"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// run is one measurement.
type run struct {
	options Options
	result  Result

	tcp, http *externalnet.Fleet
	dns       *externalnet.DNS
	stage     *framework.Cluster
	client    kubernetes.Interface
	board     *board
	leader    *subject.Subject
	// watched are the objects that have an address which is made to fail.
	watched []int
}

// open starts the servers outside and the control plane. Nothing needs a controller manager: no
// object is deleted, and it would only take part in the use of the processors.
func (r *run) open(ctx context.Context) error {
	// A fixed seed: the same objects in every run.
	r.watched = rand.New(rand.NewPCG(1, 2)).Perm(r.options.Objects)[:min(watched, r.options.Objects)] //nolint:gosec // no secret
	var err error
	if r.tcp, err = externalnet.OpenFleet(externalnet.FleetOptions{}); err != nil {
		return err
	}
	if r.http, err = externalnet.OpenFleet(externalnet.FleetOptions{Protocol: externalnet.FleetHTTP}); err != nil {
		return err
	}
	if r.dns, err = externalnet.ListenDNS(); err != nil { //nolint:contextcheck // it listens at once
		return err
	}
	r.stage, err = framework.Open(ctx, framework.Options{
		Root: r.options.Root, Operator: framework.Outside, Output: r.options.Output, Cluster: cluster.Options{WithoutControllerManager: true},
	})
	if err != nil {
		return err
	}
	r.client = r.stage.Kube
	return nil
}

// close stops what runs: the operator first, and then what it uses.
func (r *run) close() error {
	var errs []error
	if r.board != nil {
		r.board.close()
	}
	if r.stage != nil {
		errs = append(errs, r.stage.Close())
	}
	for _, fleet := range []*externalnet.Fleet{r.tcp, r.http} {
		if fleet != nil {
			errs = append(errs, fleet.Close())
		}
	}
	if r.dns != nil {
		errs = append(errs, r.dns.Close())
	}
	return errors.Join(errs...)
}

// nameserver returns the flag that makes the operator use only the nameserver of this run.
func (r *run) nameserver() string {
	return "--set=externalServices.nameservers=" + r.dns.Addr().String()
}

// lead starts the replica that is measured, with the shipped configuration.
func (r *run) lead(ctx context.Context) (err error) {
	r.leader, err = subject.Start(ctx, r.stage, r.nameserver())
	return err
}

// started waits until the leader has completed its start.
func (r *run) started(ctx context.Context) error {
	return r.until(ctx, 250*time.Millisecond, func() (bool, error) { return r.leader.Started(ctx) == nil, nil })
}

// until calls done repeatedly until it returns true.
func (r *run) until(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	return r.leader.Until(ctx, every, done)
}
