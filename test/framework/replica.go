// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// Replica is one process of the operator.
type Replica struct {
	*cluster.Component
	// ID is its identity in the election.
	ID string
	// Webhook is the address of its webhook server. Probes and Metrics are base URLs.
	Webhook, Probes, Metrics string
}

// StartReplica runs one more replica of the operator behind the webhook Service and returns once
// its webhooks answer. Further arguments override the usual ones. Several may be started at once.
func (c *Cluster) StartReplica(ctx context.Context, args ...string) (*Replica, error) {
	r, err := c.launch(ctx, true, args)
	if err == nil {
		c.Serve(r)
	}
	return r, err
}

// Serve puts a replica behind the Service, which sends requests to those that are ready.
func (c *Cluster) Serve(r *Replica) {
	c.mu.Lock()
	c.replicas = append(c.replicas, r)
	c.mu.Unlock()
	c.balance()
}

// Launch runs one more replica, waits for nothing, and leaves it out of the Service: for one that
// is meant to fail, or to hang.
func (c *Cluster) Launch(ctx context.Context, args ...string) (*Replica, error) {
	return c.launch(ctx, false, args)
}

func (c *Cluster) launch(ctx context.Context, wait bool, args []string) (*Replica, error) {
	c.mu.Lock()
	c.started++
	name := strconv.Itoa(c.started)
	c.mu.Unlock()
	r := &Replica{ID: "replica-" + name}
	spec := cluster.Spec{
		Name: "fairlead-" + name,
		Path: c.binary,
		Env:  append([]string{"POD_NAMESPACE=" + Namespace, "POD_NAME=" + r.ID}, c.env...),
		Args: func() ([]string, error) {
			usual, err := r.Arguments(c.operator.Kubeconfig)
			if c.Servers != nil {
				usual = append(usual, "--set=externalServices.nameservers="+c.Servers.DNS.Addr().String())
			}
			return append(usual, args...), err
		},
		StartTimeout: startTimeout,
		Grace:        90 * time.Second,
	}
	if wait {
		spec.Ready = r.Ready
	}
	var err error
	if r.Component, err = c.Run(ctx, spec); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, r)
	return r, nil
}

// Operator is the shipped ServiceAccount, under whose roles the replicas run.
func (c *Cluster) Operator() cluster.User { return c.operator }

// Retire stops a replica the way a rollout would, and takes it from behind the Service.
func (c *Cluster) Retire(r *Replica) {
	r.Stop()
	c.mu.Lock()
	c.replicas = slices.DeleteFunc(c.replicas, func(other *Replica) bool { return other == r })
	c.mu.Unlock()
	c.balance()
}

func (c *Cluster) balance() {
	c.mu.Lock()
	defer c.mu.Unlock()
	backends := make([]loopback.Backend, 0, len(c.replicas))
	for _, r := range c.replicas {
		backends = append(backends, loopback.Backend{Address: r.Webhook, Readyz: r.Probes + "/readyz"})
	}
	c.balancer.SetBackends(backends...)
}

// Arguments are those of a replica on this host, on free ports, which they also set on it.
func (r *Replica) Arguments(kubeconfig string) ([]string, error) {
	var ports [3]int
	for i := range ports {
		port, err := loopback.FreePort()
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	r.Webhook = fmt.Sprintf("127.0.0.1:%d", ports[0])
	r.Probes = fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	r.Metrics = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	return []string{"manager", "--kubeconfig=" + kubeconfig, "--set=leaderElection.id=" + r.ID,
		"--set=webhook.host=127.0.0.1", fmt.Sprintf("--set=webhook.port=%d", ports[0]),
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[2]),
		"--set=webhook.drainDelay=1s"}, nil
}

// Ready is nil once the webhooks of the replica answer.
func (r *Replica) Ready(ctx context.Context) error {
	_, err := r.Probe(ctx, "/readyz")
	return err
}

// Probe asks one of the probe server's paths, such as /statusz, and returns the body.
func (r *Replica) Probe(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Probes+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	return string(body), nil
}
