// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// makers make the objects of a scenario.
	makers = 8
	// churning is how many workloads of a churn there are at once.
	churning = 10
)

// driver makes the objects of a scenario, and changes them.
type driver struct {
	*scenario
	stage  *framework.Cluster
	record *record
	seed   uint64
}

// make makes the objects.
func (d *driver) make(ctx context.Context) error {
	namespaces := map[string]bool{}
	for _, of := range d.sources {
		if namespaces[of.namespace] {
			continue
		}
		namespaces[of.namespace] = true
		if err := d.stage.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of.namespace}}); err != nil {
			return err
		}
	}
	for _, phase := range []func(*errgroup.Group, context.Context){
		func(group *errgroup.Group, ctx context.Context) {
			for _, of := range d.sources {
				group.Go(func() error { _, err := d.write(ctx, of, ""); return err })
			}
		},
		func(group *errgroup.Group, ctx context.Context) {
			for _, w := range d.workloads {
				group.Go(func() error { return d.run(ctx, w) })
			}
		},
	} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(makers)
		phase(group, ctx)
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// run makes a workload.
func (d *driver) run(ctx context.Context, w workload) error {
	d.record.expect(w)
	return d.stage.Client.Create(ctx, w.object)
}

// play makes the changes. It takes as long as all writers need for those of a duration, with the same seed for the same ones.
func (d *driver) play(ctx context.Context, duration time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	for writer := range d.writers {
		r := rand.New(rand.NewPCG(d.seed, uint64(writer))) //nolint:gosec // no secret
		group.Go(func() error {
			return each(ctx, d.every, duration, func(n int) error { return d.change(ctx, r, writer, n) })
		})
	}
	if d.churn > 0 {
		group.Go(func() error { return each(ctx, d.churn, duration, func(n int) error { return d.renew(ctx, n) }) })
	}
	return group.Wait()
}

// each does something at a pace, as often as it fits into a duration, and once at least.
func each(ctx context.Context, every, duration time.Duration, do func(n int) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := range max(int(duration/every), 1) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}

// change makes the n-th change of a writer.
func (d *driver) change(ctx context.Context, r *rand.Rand, writer, n int) error {
	of := d.sources[r.IntN(len(d.sources))]
	if d.choose != nil {
		of = d.choose(r, n)
	}
	version, err := d.write(ctx, of, fmt.Sprintf("%d-%d", writer, n))
	if err != nil || d.annotations {
		return err
	}
	return d.record.change(of, version)
}

// renew makes the n-th workload of a churn, and deletes an older one.
func (d *driver) renew(ctx context.Context, n int) error {
	named := func(n int) workload {
		return newWorkload(deployment, home, fmt.Sprintf("churn-%d", n), environment(d.sources...), d.sources...)
	}
	if err := d.run(ctx, named(n)); err != nil || n < churning {
		return err
	}
	return d.stage.Client.Delete(ctx, named(n-churning).object)
}

// write makes a source, or changes it where there is a mark of the change, and returns its version then.
func (d *driver) write(ctx context.Context, of source, mark string) (string, error) {
	resource, member := map[string]string{configMap: "configmaps", secret: "secrets"}[of.kind], map[string]string{configMap: "data", secret: "stringData"}[of.kind]
	data := map[string]string{}
	for i, key := range keys {
		if i > 0 && mark != "" {
			break // a change is one of the first key
		}
		data[key] = string(bytes.Repeat([]byte("x"), d.size)) + mark
	}
	body := map[string]any{"apiVersion": "v1", "kind": of.kind, "metadata": map[string]any{"name": of.name}, member: data}
	if mark != "" && d.annotations {
		body = map[string]any{"metadata": map[string]any{"annotations": map[string]string{"load": mark}}}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	var request *rest.Request
	if api := d.stage.Kube.CoreV1().RESTClient(); mark == "" {
		request = api.Post()
	} else {
		request = api.Patch(types.MergePatchType).Name(of.name)
	}
	answer, err := request.Namespace(of.namespace).Resource(resource).Body(encoded).Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("write %s: %w", of, err)
	}
	var written metav1.PartialObjectMetadata
	err = json.Unmarshal(answer, &written)
	return written.ResourceVersion, err
}
