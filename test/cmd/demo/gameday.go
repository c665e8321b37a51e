// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

const ordersDatabase = `
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: orders-db, namespace: default}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints: [{name: primary, addresses: [%s]}]
  healthCheck: {tcpSocket: {}}
`

const orders = `
apiVersion: v1
kind: ConfigMap
metadata: {name: orders, namespace: default}
data: {level: info}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      containers:
      - {name: orders, image: "orders:1", envFrom: [{configMapRef: {name: orders}}]}
`

const ordersPolicy = `
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: orders, namespace: default}
spec:
  targets: [{kind: Deployment, name: orders}]
  triggers:
  - {name: stuck, type: Probe, probe: {httpGet: {path: /healthz, port: %d}, interval: 1s, timeout: 1s, failureThreshold: 5}}
  - {name: config, type: ConfigChange}
  gates: [{name: orders-db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: orders-db, type: Healthy}}]
  cooldown: 10m
  debounce: {quietPeriod: 1s}
  verification: {soak: 2s}
`

// gameDay takes a database away for 20 seconds while the workload that needs it fails its checks and
// has its configuration changed. Nothing is done to have it back.
func gameDay(ctx context.Context, s *environment) (err error) {
	address := fmt.Sprintf("198.51.100.%d", 1+os.Getpid()%250) // another one for a demo that runs beside this one
	if _, err := s.Servers.TCP(address + ":5432"); err != nil {
		return fmt.Errorf("the database: %w (a loopback address replaces it, which takes Linux)", err)
	}
	checks, err := externalnet.OpenFleet(externalnet.FleetOptions{Protocol: externalnet.FleetHTTP, Workers: 4})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checks.Close()) }()
	if err := s.apply(ctx, fmt.Sprintf(ordersDatabase, address), orders, fmt.Sprintf(ordersPolicy, checks.Port())); err != nil {
		return err
	}
	if err := s.calls(ctx,
		[]string{"rollout", "status", "deployment/orders", "--timeout=60s"},
		[]string{"wait", "--for=condition=Ready", "--timeout=60s", "extsvc/orders-db", "rebootpolicy/orders"},
		[]string{"wait", "--for=condition=Healthy", "--timeout=60s", "extsvc/orders-db"},
	); err != nil {
		return err
	}
	if err := s.ready(ctx, "true"); err != nil {
		return err
	}
	listed, err := s.Kubectl(ctx, "get", "pods", "-l", "app=orders", "-o", "jsonpath={.items[*].status.podIP}")
	if err != nil {
		return err
	}
	var pods []netip.Addr
	for _, ip := range strings.Fields(listed) {
		pod, err := netip.ParseAddr(ip)
		if err != nil {
			return err
		}
		pods = append(pods, pod)
	}

	if err := s.calls(ctx,
		[]string{"annotate", "extsvc", "orders-db", "networking.fairlead.dev/inject-fault=BlackHole for=20s"},
		[]string{"wait", "--for=condition=FaultInjected", "--timeout=60s", "extsvc/orders-db"},
		[]string{"wait", "--for=jsonpath={.status.addresses.published}=0", "--timeout=60s", "extsvc/orders-db"},
	); err != nil {
		return err
	}
	show("the pods of orders need the database: from now on they fail their health check")
	if err := checks.Fail(pods...); err != nil {
		return err
	}
	if err := s.ready(ctx, "false"); err != nil {
		return err
	}
	if err := s.calls(ctx,
		[]string{"patch", "configmap", "orders", "-p", `{"data":{"level":"debug"}}`},
		[]string{"wait", `--for=jsonpath={.status.conditions[?(@.type=="Waiting")].reason}=GateClosed`, "--timeout=60s", "rebootpolicy/orders"},
	); err != nil {
		return err
	}
	held, said, err := s.kubectl(ctx, "", "get", "rebootpolicy", "orders", "-o", `jsonpath={.status.conditions[?(@.type=="Waiting")].message}{"\n"}`)
	if err != nil {
		return errors.New(said)
	}
	if err := expect(held, "a fault is injected into ExternalService orders-db"); err != nil {
		return err
	}

	// Nothing is done but to wait.
	if err := s.calls(ctx, []string{"wait", "--for=jsonpath={.status.fault.outcome}=DeadlineReached", "--timeout=120s", "extsvc/orders-db"}); err != nil {
		return err
	}
	show("the database is back: the pods pass their health check")
	if err := checks.Fail(); err != nil {
		return err
	}
	if err := s.calls(ctx, []string{"wait", "--for=jsonpath={.status.addresses.published}=1", "--timeout=60s", "extsvc/orders-db"}); err != nil {
		return err
	}
	if err := s.ready(ctx, "true"); err != nil {
		return err
	}
	if err := s.calls(ctx, []string{"wait", "--for=condition=Verified", "--timeout=60s", "rebootpolicy/orders"}); err != nil {
		return err
	}
	if err := s.verdict(ctx); err != nil {
		return err
	}
	// Its pods have no health check when this step is over.
	_, err = s.Kubectl(ctx, "delete", "rebootpolicy", "orders")
	return err
}

// ready fails unless the one address of the database is published as ready, or not.
func (e *environment) ready(ctx context.Context, want string) error {
	out, said, err := e.kubectl(ctx, "", "get", "endpointslices", "-l", "kubernetes.io/service-name=orders-db",
		"-o", `jsonpath={range .items[*].endpoints[*]}{.addresses[0]} ready: {.conditions.ready}{"\n"}{end}`)
	if err != nil {
		return errors.New(said)
	}
	if strings.Count(out, "\n") != 1 {
		return fmt.Errorf("want one address:\n%s", out)
	}
	return expect(out, "ready: "+want)
}

// verdict fails unless the dependants stayed ready, and the one restart that there was is that of the
// changed configuration, after the fault.
func (e *environment) verdict(ctx context.Context) error {
	fault, said, err := e.kubectl(ctx, "", "get", "extsvc", "orders-db", "-o",
		`jsonpath={.status.fault.completionTime} {.status.fault.outcome}{range .status.fault.dependants[*]}; {.kind} {.name}: {.ready}{end}{"\n"}`)
	if err != nil {
		return errors.New(said)
	}
	if err := expect(fault, "DeadlineReached; Deployment orders: StayedReady\n"); err != nil {
		return err
	}
	restarts, said, err := e.kubectl(ctx, "", "get", "rebootpolicy", "orders", "-o",
		`jsonpath={range .status.history[*]}{.startTime} {.result}, triggers {.triggers}{"\n"}{end}`)
	if err != nil {
		return errors.New(said)
	}
	if strings.Count(restarts, "\n") != 1 {
		return fmt.Errorf("want one restart:\n%s", restarts)
	}
	if err := expect(restarts, `Succeeded, triggers ["config"]`); err != nil {
		return err
	}
	if ended, started := strings.Fields(fault)[0], strings.Fields(restarts)[0]; started < ended {
		return fmt.Errorf("the restart started at %s, before the fault ended at %s", started, ended)
	}
	return nil
}
