// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const workload = `
apiVersion: v1
kind: Secret
metadata: {name: credentials, namespace: default}
stringData: {password: first}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - {name: shop, image: "shop:1", envFrom: [{secretRef: {name: credentials}}]}
`

const policy = `
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: shop, namespace: default}
spec:
  targets: [{kind: Deployment, name: shop}]
  triggers: [{name: config, type: ConfigChange}]
  debounce: {quietPeriod: 1s}
  verification: {soak: 2s}
`

// restart changes a Secret twice in a row, and counts what comes of it.
func restart(ctx context.Context, s *environment) error {
	if err := s.apply(ctx, workload, policy); err != nil {
		return err
	}
	if err := s.calls(ctx,
		[]string{"rollout", "status", "deployment/shop", "--timeout=60s"},
		[]string{"wait", "--for=condition=Ready", "--timeout=60s", "rebootpolicy/shop"},
		[]string{"patch", "secret", "credentials", "-p", `{"stringData":{"password":"second"}}`},
		[]string{"patch", "secret", "credentials", "-p", `{"stringData":{"password":"third"}}`},
		[]string{"wait", "--for=condition=Verified", "--timeout=60s", "rebootpolicy/shop"},
		[]string{"get", "rebootpolicy", "shop"},
	); err != nil {
		return err
	}
	if err := framework.Eventually(ctx, 30*time.Second, func(ctx context.Context) error {
		return s.events(ctx, "shop", "RestartStarted", "RestartVerified")
	}); err != nil {
		return err
	}
	out, said, err := s.kubectl(ctx, "", "get", "replicasets", "-n", "default", "-l", "app=shop", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.replicas}{"\n"}{end}`)
	if err != nil {
		return errors.New(said)
	}
	if n := strings.Count(out, "shop-"); n != 2 {
		return fmt.Errorf("%d ReplicaSets, want 2: the first, and that of one restart", n)
	}
	return nil
}
