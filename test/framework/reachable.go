// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oldObjects are one of each kind at v1alpha1: writing them takes conversion and both webhooks.
const oldObjects = `
apiVersion: networking.fairlead.dev/v1alpha1
kind: ExternalService
metadata: {name: reachable, namespace: default}
spec: {ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}]}
---
apiVersion: autoreboot.fairlead.dev/v1alpha1
kind: RebootPolicy
metadata: {name: reachable, namespace: default}
spec: {targets: [{kind: Deployment, name: reachable}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}
---
apiVersion: chaos.fairlead.dev/v1alpha1
kind: ChaosPod
metadata: {name: reachable, namespace: default}
spec: {template: {spec: {containers: [{name: pause, image: pause}]}}}
`

// Reachable waits until the API server reaches every webhook: some replica is ready, and the API
// server has taken note of the authority that the replica published. It reads its webhook
// configurations a moment late, and until then verifies with what stood there before.
func (c *Cluster) Reachable(ctx context.Context) error {
	objects, err := objectsIn(strings.NewReader(oldObjects))
	if err != nil {
		return err
	}
	err = Eventually(ctx, startTimeout, func(ctx context.Context) error {
		if len(c.balancer.Ready()) == 0 {
			return fmt.Errorf("no replica is ready")
		}
		for _, object := range objects {
			if err := c.Client.Create(ctx, object.DeepCopy(), client.DryRunAll); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.storedTrust(context.WithoutCancel(ctx)))
	}
	return nil
}

// storedTrust returns whether each replica that is ready presents what every stored CA bundle trusts. If so, the API server has not
// loaded what is stored; otherwise another writer has replaced it.
func (c *Cluster) storedTrust(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	trust, err := c.FollowTrust(ctx)
	if err != nil {
		return "the stored CA bundles are not known: " + err.Error()
	}
	var all []string
	for _, address := range c.balancer.Ready() {
		text := "every stored CA bundle trusts " + address
		if err := trust.Handshake(ctx, address); err != nil {
			text = "not every stored CA bundle trusts it: " + err.Error()
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}
