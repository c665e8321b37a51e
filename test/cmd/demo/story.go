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

var story = []step{
	{"The operator starts: webhooks answer before any cache is filled", start},
	{"A v1alpha1 manifest is applied", applyOld},
	{"It is stored as v1, defaulted, and reads back at both versions", readBoth},
	{"A bad object is refused with the name of the field", refuse},
	{"An ExternalService becomes a Service and EndpointSlices", publish},
	{"Nothing is written while nothing changes", rest},
	{"A Secret changes twice; the Deployment that refers to it restarts once, and is seen to recover", restart},
	{"A game day: a database is taken away for 20 s; what depends on it is held, not restarted, and all returns by itself", gameDay},
	{"A canary is killed, and comes back", survive},
	{"The leader hands over while objects keep being applied, and no request fails", handOver},
	{"Deleting the objects takes everything with them", remove},
}

const oldPolicy = `
apiVersion: autoreboot.fairlead.dev/v1alpha1
kind: RebootPolicy
metadata: {name: payments, namespace: default}
spec:
  targets: [{kind: Deployment, name: payments-api}]
  cooldown: 10m
  policies:
  - name: wedged
    description: restart when stuck
    type: Probe
    probe: {httpGet: {path: /healthz, port: 8080}, interval: 30s, timeout: 5s, failureThreshold: 5}
`

const database = `
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: billing-db, namespace: default}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints:
  - {name: primary, addresses: [192.0.2.10, 192.0.2.11]}
  - {name: six, addresses: ["2001:db8::10"], ports: [{name: postgres, port: 6432}]}
`

const badDatabase = `
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: bad, namespace: default}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints: [{name: primary, addresses: [169.254.169.254]}]
`

const badPolicy = `
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: bad, namespace: default}
spec:
  targets: [{kind: Deployment, name: payments-api}]
  triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 9", timeZone: Europe/Atlantis}}]
`

func start(ctx context.Context, s *environment) (err error) {
	if s.leader, err = s.replica(ctx); err != nil {
		return err
	}
	if err := s.Reachable(ctx); err != nil {
		return err
	}
	if err := framework.Eventually(ctx, 30*time.Second, s.leader.Started); err != nil {
		return err
	}
	status, err := s.leader.Probe(ctx, "/statusz")
	if err != nil {
		return err
	}
	show(status)
	return nil
}

func applyOld(ctx context.Context, s *environment) error {
	_, said, err := s.kubectl(ctx, oldPolicy, "apply", "-f", "-")
	if err != nil {
		return errors.New(said)
	}
	return expect(said, "created")
}

func readBoth(ctx context.Context, s *environment) error {
	stored, said, err := s.kubectl(ctx, "", "get", "crd", "rebootpolicies.autoreboot.fairlead.dev", "-o", "jsonpath={.status.storedVersions}")
	if err != nil {
		return errors.New(said)
	}
	if stored != `["v1"]` {
		return fmt.Errorf("stored versions %s, want [\"v1\"]", stored)
	}
	now, said, err := s.kubectl(ctx, "", "get", "rebootpolicies.v1.autoreboot.fairlead.dev", "payments", "-o", "jsonpath={.spec}")
	if err != nil {
		return errors.New(said)
	}
	if err := expect(now, `"cooldown":"10m"`, `"type":"Probe"`, `"interval":"30s"`, `"onFailure":"Halt"`); err != nil {
		return err
	}
	before, said, err := s.kubectl(ctx, "", "get", "rebootpolicies.v1alpha1.autoreboot.fairlead.dev", "payments", "-o", "jsonpath={.spec}")
	if err != nil {
		return errors.New(said)
	}
	return expect(before, `"policies":[`, `"interval":"30s"`, `"description":"restart when stuck"`, `"name":"payments-api"`)
}

func refuse(ctx context.Context, s *environment) error {
	_, said, err := s.kubectl(ctx, badDatabase, "apply", "-f", "-")
	if err == nil {
		return errors.New("the metadata address was accepted")
	}
	if err := expect(said, "spec.endpoints[0].addresses[0]"); err != nil {
		return err
	}
	_, said, err = s.kubectl(ctx, badPolicy, "apply", "-f", "-")
	if err == nil {
		return errors.New("a time zone that does not exist was accepted")
	}
	return expect(said, "spec.triggers[0].schedule.timeZone", "Europe/Atlantis")
}

func publish(ctx context.Context, s *environment) error {
	if _, said, err := s.kubectl(ctx, database, "apply", "-f", "-"); err != nil {
		return errors.New(said)
	}
	if _, said, err := s.kubectl(ctx, "", "wait", "--for=condition=Ready", "--timeout=30s", "extsvc/billing-db"); err != nil {
		return errors.New(said)
	}
	out, said, err := s.kubectl(ctx, "", "get", "extsvc,service,endpointslices", "-l", "app.kubernetes.io/managed-by=fairlead.dev")
	if err != nil {
		return errors.New(said)
	}
	if err := expect(out, "service/billing-db"); err != nil {
		return err
	}
	out, said, err = s.kubectl(ctx, "", "get", "endpointslices", "-l", "kubernetes.io/service-name=billing-db")
	if err != nil {
		return errors.New(said)
	}
	return expect(out, "192.0.2.10,192.0.2.11", "2001:db8::10", "5432", "6432", "IPv4", "IPv6")
}

// rest applies the same manifest again and touches the Service: the operator sees both, and nothing
// of its own gets another resource version.
func rest(ctx context.Context, s *environment) error {
	versions := func() (string, error) {
		return s.Kubectl(ctx, "get", "extsvc,endpointslices", "-n", "default",
			"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}@{.metadata.resourceVersion} {end}`)
	}
	before, err := versions()
	if err != nil {
		return err
	}
	if _, said, err := s.kubectl(ctx, "", "annotate", "service/billing-db", "example.com/touched=yes"); err != nil {
		return errors.New(said)
	}
	if _, said, err := s.kubectl(ctx, database, "apply", "-f", "-"); err != nil {
		return errors.New(said)
	}
	// What comes after has been reconciled after.
	if _, said, err := s.kubectl(ctx, strings.ReplaceAll(database, "billing-db", "later"), "apply", "-f", "-"); err != nil {
		return errors.New(said)
	}
	if _, said, err := s.kubectl(ctx, "", "wait", "--for=condition=Ready", "--timeout=30s", "extsvc/later"); err != nil {
		return errors.New(said)
	}
	after, err := versions()
	if err != nil {
		return err
	}
	return expect(after, strings.Fields(before)...)
}

func remove(ctx context.Context, s *environment) error {
	out, err := s.Kubectl(ctx, "delete", "extsvc", "--all", "-n", "default")
	if err != nil {
		return err
	}
	show(fmt.Sprintf("%d ExternalServices deleted", strings.Count(out, "\n")))
	if err := s.calls(ctx, []string{"delete", "chaospod", "canary"}); err != nil {
		return err
	}
	return framework.Eventually(ctx, 60*time.Second, func(ctx context.Context) error {
		out, err := s.Kubectl(ctx, "get", "services,endpointslices,pods", "-n", "default", "-o", "name")
		if err != nil {
			return err
		}
		for _, name := range []string{"billing-db", "orders-db", "load-", "pod/canary"} {
			if strings.Contains(out, name) {
				return fmt.Errorf("%s is still there: %s", name, out)
			}
		}
		return nil
	})
}
