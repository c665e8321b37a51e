// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/soak/proxy"
)

// Modes of links, by the names that scenarios use.
const (
	open    = proxy.Open
	refused = proxy.Refused
	silent  = proxy.Silent
)

// outage is how long a replica is cut off.
const outage = 30 * time.Second

var errNoStandby = errors.New("there is no replica that does not lead")

// restartAPIServer restarts kube-apiserver in order, and then after a crash.
func restartAPIServer(ctx context.Context, a *attempt) error {
	return a.restart(ctx, cluster.APIServer)
}

// restartEtcd does the same with etcd.
func restartEtcd(ctx context.Context, a *attempt) error { return a.restart(ctx, cluster.Etcd) }

func (a *attempt) restart(ctx context.Context, name string) error {
	component := a.Component(name)
	a.printf("restarting %s", name)
	if err := component.Restart(ctx); err != nil {
		return err
	}
	if err := a.recovered(ctx); err != nil {
		return err
	}
	a.printf("killing %s", name)
	component.Kill()
	if err := component.Start(ctx); err != nil {
		return err
	}
	if err := a.recovered(ctx); err != nil {
		return err
	}
	a.note("%s restarted in order, and killed", name)
	// A leader that has lost its lease drains for a while before it ends, and is replaced then.
	return framework.Eventually(ctx, startTimeout, func(ctx context.Context) error {
		if err := a.replaceEnded(ctx); err != nil {
			return err
		}
		return a.ready(replicas)
	})
}

// replaceEnded runs another replica for each that has ended by itself, as a kubelet does: a leader that could
// not renew its lease in time ends.
func (a *attempt) replaceEnded(ctx context.Context) error {
	for _, r := range a.running() {
		if r.PID() == 0 {
			a.note("%s had ended by itself, and was replaced", r.ID)
			a.leave(r)
		}
	}
	for len(a.running()) < replicas { // one whose start failed is missing from then on
		if err := a.start(ctx, whole); err != nil {
			return err
		}
	}
	return nil
}

// recovered waits until the API server takes requests that call every webhook, and one replica leads. A
// leader that has ended must not wait for that: the next one may end too, until none is left.
func (a *attempt) recovered(ctx context.Context) error {
	err := framework.Eventually(ctx, startTimeout, func(ctx context.Context) error {
		if err := a.replaceEnded(ctx); err != nil {
			return err
		}
		return probe(ctx, a.site)
	})
	if err != nil {
		return err
	}
	_, err = a.leader(ctx)
	return err
}

// cutOffFromAPIServer leaves a standby reachable and takes the API server away from it.
func cutOffFromAPIServer(ctx context.Context, a *attempt) error {
	r, err := a.standby(ctx)
	if err != nil {
		return err
	}
	a.printf("%s is cut off from the API server", r.ID)
	r.api.Set(silent)
	if err := pause(ctx, outage); err != nil {
		return err
	}
	ready := r.Ready(ctx)
	r.api.Set(open)
	a.note("%s could not reach the API server for %s, and was asked all the while; ready: %v", r.ID, outage, ready == nil)
	return a.inService(ctx, replicas)
}

// refuseConnections takes a standby's ports away, as if it had died, for a while.
func refuseConnections(ctx context.Context, a *attempt) error {
	return a.cutOff(ctx, refused, "refused every connection")
}

// fallSilent has a network between the API server and a standby drop everything.
func fallSilent(ctx context.Context, a *attempt) error {
	return a.cutOff(ctx, silent, "was not reached by anything")
}

func (a *attempt) cutOff(ctx context.Context, mode proxy.Mode, how string) error {
	r, err := a.standby(ctx)
	if err != nil {
		return err
	}
	a.printf("%s is cut off", r.ID)
	lost := a.excuseLosses(r)
	began := time.Now()
	r.webhook.Set(mode)
	r.probes.Set(mode)
	if err := a.inService(ctx, replicas-1); err != nil {
		return err
	}
	noticed := time.Since(began)
	if err := pause(ctx, outage-noticed); err != nil {
		return err
	}
	held, missed := lost()
	r.webhook.Set(open)
	r.probes.Set(open)
	a.note("%s %s for %s; %d calls waited for it then, %d were sent to it later; the Service had it for another %s",
		r.ID, how, outage, held, missed, noticed.Round(10*time.Millisecond))
	return a.inService(ctx, replicas)
}

// excuseLosses begins to take what is lost with a replica for an explanation. The answer ends that, and says
// how many calls the replica had, and how many were sent to it later.
func (a *attempt) excuseLosses(r *replica) (counted func() (held, missed int)) {
	before := len(r.webhook.Losses())
	return func() (held, missed int) {
		lost := r.webhook.Losses()[before:]
		a.losses = append(a.losses, lost...)
		for _, loss := range lost {
			if loss.Held {
				held++
			} else {
				missed++
			}
		}
		return held, missed
	}
}

// standby is a replica that does not lead.
func (a *attempt) standby(ctx context.Context) (*replica, error) {
	leader, err := a.leader(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range a.running() {
		if r != leader {
			return r, nil
		}
	}
	return nil, errNoStandby
}
