// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// maxNodes bounds what one process can play with a heartbeat of 40 s each.
const maxNodes = 2000

// validateNodes refuses what could only fail later, and less clearly.
func (o *Options) validateNodes() error {
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return fmt.Errorf("Options.Nodes is %d: it must be 0 to %d", o.Nodes, maxNodes)
	}
	if o.Nodes > 0 && o.WithoutControllerManager {
		return errors.New("Options.Nodes with WithoutControllerManager: nodes would keep the taint that " +
			"kube-controller-manager takes off, and no pod would start")
	}
	if o.PodCIDR == "" {
		return nil
	}
	if p, err := netip.ParsePrefix(o.PodCIDR); err != nil || p != p.Masked() {
		return fmt.Errorf("Options.PodCIDR is %q: it must be a range such as %s", o.PodCIDR, defaultPodCIDR)
	}
	return nil
}

// makeNodes creates the nodes and returns once pods can run on each.
func (c *Cluster) makeNodes(ctx context.Context) error {
	began := time.Now()
	var list bytes.Buffer
	for i := range c.options.Nodes {
		name := fmt.Sprintf("node-%d", i+1)
		fmt.Fprintf(&list, `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": %q, "labels": {
			"kubernetes.io/hostname": %[1]q, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}}}
`, name)
	}
	problems := bounded{limit: 64 << 10}
	if err := c.KubectlIO(ctx, &list, io.Discard, &problems, "create", "-f", "-"); err != nil {
		return fmt.Errorf("make the nodes: %w: %s", err, problems.buf.String())
	}
	if err := c.awaitNodes(ctx); err != nil {
		return err
	}
	c.printf("nodes are ready after %v: %d", time.Since(began).Round(10*time.Millisecond), c.options.Nodes)
	return nil
}

func (c *Cluster) awaitNodes(ctx context.Context) error {
	limit := c.options.StartTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready after %v", limit))
	defer cancel()
	ctx, stop := whileBoth(ctx, c.ctx)
	defer stop()
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		notReady := c.nodesReady(ctx)
		if notReady == nil {
			return nil
		}
		for _, name := range []string{Kwok, ControllerManager} {
			if k := c.Component(name); k == nil || k.PID() == 0 {
				return fmt.Errorf("nodes: %w: %s does not run", notReady, name)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nodes: %w (last answer: %w)%s", context.Cause(ctx), notReady, c.Component(Kwok).lastLines())
		case <-ticker.C:
		}
	}
}

// nodesReady is nil once all nodes are there and ready, and the taint of new nodes is off.
func (c *Cluster) nodesReady(ctx context.Context) error {
	admin := c.Admin()
	body, err := fetch(ctx, c.pki.ca, pair{cert: admin.Cert, key: admin.Key}, c.URL()+"/api/v1/nodes", 64<<20)
	if err != nil {
		return err
	}
	var list struct {
		Items []struct {
			Spec   struct{ Taints []struct{ Key string } }
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("read the nodes: %w", err)
	}
	ready := 0
	for _, node := range list.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" && len(node.Spec.Taints) == 0 {
				ready++
			}
		}
	}
	if ready < c.options.Nodes {
		return fmt.Errorf("%d of %d ready and without a taint", ready, c.options.Nodes)
	}
	return nil
}
