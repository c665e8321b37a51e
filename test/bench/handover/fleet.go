// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// FleetPrefix begins the names of the rows about very many objects.
	FleetPrefix = "fleet/"
	// fleetWriters make them.
	fleetWriters = 16
	// FleetNamespaces hold them.
	FleetNamespaces = 30
	// fleetPatience bounds a step with them.
	fleetPatience = 5 * time.Minute
	// fleetRest is how long a process has been at rest when its memory is read.
	fleetRest = time.Minute
	mebi      = 1 << 20
)

// fleet measures starts, a handover and memory with very many ExternalServices that are suspended, so that nothing but
// the objects is held.
func (r *run) fleet(ctx context.Context) ([]Row, error) {
	if err := r.fill(ctx); err != nil {
		return nil, fmt.Errorf("make %d objects: %w", r.options.Objects, err)
	}
	r.patience = fleetPatience
	stocked, err := r.stock(ctx, "--release")
	if err != nil {
		return nil, err
	}
	alone := ours(r.stage, "--set=webhook.enabled=false")
	mine, err := r.atRest(ctx, "fairlead", alone)
	if err != nil {
		return nil, err
	}
	theirs, err := r.atRest(ctx, "controller-runtime", stocked)
	if err != nil {
		return nil, err
	}
	list, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	r.options.Runs = 1
	released, err := r.handovers(ctx, "release of many objects, fairlead", ours(r.stage), told)
	if err != nil {
		return nil, err
	}
	peer, err := r.handovers(ctx, "release of many objects, controller-runtime", stocked, told)
	if err != nil {
		return nil, err
	}
	return []Row{
		newRow(FleetPrefix+"first-reconcile", "< 10000", []time.Duration{mine.first}, []time.Duration{theirs.first}),
		newRow(FleetPrefix+"list", "", []time.Duration{list}, nil),
		newRow(FleetPrefix+"handover-release", "< 2500", released, peer),
		memoryRow("memory-peak", "<= 300", mine.usage.Peak, theirs.usage.Peak),
		memoryRow("memory-settled", "<= 200", mine.usage.Memory, theirs.usage.Memory),
	}, nil
}

// memoryRow is memory beside that of another process.
func memoryRow(name, target string, ours, theirs float64) Row {
	return Row{
		Name: FleetPrefix + name, Unit: "MiB", Value: math.Round(ours / mebi), Peer: math.Round(theirs / mebi),
		Ratio: math.Round(100*theirs/ours) / 100, target: target,
	}
}

// rested is a process after a minute.
type rested struct {
	first time.Duration // from its start to its first reconcile
	usage process.Usage
}

func (r *run) atRest(ctx context.Context, name string, s side) (all rested, err error) {
	err = r.within(ctx, "many objects, "+name, func(ctx context.Context) error {
		if err := r.free(ctx, s); err != nil {
			return err
		}
		began := time.Now()
		replica, err := s.start(ctx)
		if err != nil {
			return err
		}
		defer replica.Stop()
		first, err := r.log.First(ctx, "begin", began, func(id string) bool { return id == replica.id })
		if err != nil {
			return err
		}
		all.first = first.At.Sub(began)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(fleetRest):
		}
		all.usage, err = process.UsageOf(replica.PID())
		return err
	})
	if err == nil {
		_, _ = fmt.Fprintf(r.options.Output, "handover: %s: first reconcile after %v, memory at most %.0f MiB, %.0f MiB at rest; %.1f s of a processor\n",
			name, all.first.Round(10*time.Millisecond), all.usage.Peak/mebi, all.usage.Memory/mebi, all.usage.CPU)
	}
	return all, err
}

// list lists the objects as a start does, from the API server's cache, and throws them away: no start takes less.
func (r *run) list(ctx context.Context) (took time.Duration, err error) {
	err = r.within(ctx, "list of many objects", func(ctx context.Context) error {
		began := time.Now()
		body, err := r.stage.Kube.Discovery().RESTClient().Get().AbsPath("/apis/networking.fairlead.dev/v1/externalservices").Param("resourceVersion", "0").Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		_, err = io.Copy(io.Discard, body)
		took = time.Since(began)
		return err
	})
	return took, err
}

// fill makes the objects, some 4.5 KB each as they are stored.
func (r *run) fill(ctx context.Context) error {
	replica, err := r.stage.StartReplica(ctx)
	if err != nil {
		return err
	}
	defer r.stage.Retire(replica)
	if err := r.stage.Reachable(ctx); err != nil {
		return err
	}
	return Fill(ctx, r.stage, r.options.Objects, FleetObject, r.options.Output)
}

// Fill makes the namespaces and, in turn in each of them, the ExternalServices that object returns. Progress is written
// to output.
func Fill(ctx context.Context, stage *framework.Cluster, objects int, object func(n int) map[string]any, output io.Writer) error {
	api := stage.Kube
	for n := range FleetNamespaces {
		namespace := map[string]any{"metadata": map[string]any{"name": FleetNamespace(n)}}
		body, err := json.Marshal(namespace)
		if err != nil {
			return err
		}
		if err := api.CoreV1().RESTClient().Post().Resource("namespaces").SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error(); err != nil {
			return err
		}
	}
	filling, ctx := errgroup.WithContext(ctx)
	filling.SetLimit(fleetWriters)
	for i := range objects {
		if ctx.Err() != nil {
			break
		}
		if i > 0 && i%5000 == 0 {
			_, _ = fmt.Fprintf(output, "%d of %d objects made\n", i, objects)
		}
		filling.Go(func() error {
			body, err := json.Marshal(object(i))
			if err != nil {
				return err
			}
			return api.Discovery().RESTClient().Post().AbsPath("/apis/networking.fairlead.dev/v1/namespaces", FleetNamespace(i%FleetNamespaces), "externalservices").
				SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		})
	}
	return filling.Wait()
}

// FleetNamespace is the name of one of them.
func FleetNamespace(n int) string { return fmt.Sprintf("fleet-%d", n) }

// FleetObject is a suspended ExternalService.
func FleetObject(i int) map[string]any {
	var endpoints []any
	for priority := range 3 {
		addresses := make([]string, 4)
		for j := range addresses {
			n := 12*i + 4*priority + j // of 198.18.0.0/15, so that objects that follow each other have none in common
			addresses[j] = fmt.Sprintf("198.%d.%d.%d", 18+n>>16%2, n>>8%256, n%256)
		}
		endpoints = append(endpoints, map[string]any{
			"name": fmt.Sprintf("site-%d", priority), "priority": priority, "zone": fmt.Sprintf("eu-central-1%c", 'a'+priority), "addresses": addresses,
		})
	}
	metadata := map[string]any{"name": fmt.Sprintf("fleet-%d", i), "labels": map[string]any{
		"app.kubernetes.io/name": "ledger", "app.kubernetes.io/part-of": "payments", "team": fmt.Sprintf("team-%d", i%50),
	}}
	object := map[string]any{
		"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService", "metadata": metadata,
		"spec": map[string]any{
			"suspend": true, "service": map[string]any{"clusterIP": "None", "labels": map[string]any{"team": fmt.Sprintf("team-%d", i%50)}},
			"ports":       []any{map[string]any{"name": "sql", "port": 5432}, map[string]any{"name": "metrics", "port": 9187}},
			"endpoints":   endpoints,
			"healthCheck": map[string]any{"httpGet": map[string]any{"port": "metrics", "path": "/health/ready", "expectedStatuses": []any{map[string]any{"start": 200, "end": 299}}}, "interval": "15s"},
			"failover":    map[string]any{"minHealthyPercent": 50, "failback": "Automatic", "failbackDelay": "10m"},
		},
	}
	applied, err := json.Marshal(object)
	if err != nil {
		return nil // plain data: it cannot fail
	}
	metadata["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": string(applied) + "\n"}
	return object
}
