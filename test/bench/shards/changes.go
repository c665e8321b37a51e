// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// changeEvery is the time between two changes of Secrets.
	changeEvery = 250 * time.Millisecond
	// changeAgain is how long after a change the Secret of the same Deployment may change again: a second restart for
	// the former change has had time to come.
	changeAgain = 10 * time.Second
)

// changes of the Secret of a Deployment.
type changes struct {
	n      int
	latest time.Time
}

// change changes the Secrets of all Deployments in turn, until ctx ends. Those that have not been restarted for each
// change are left out, so that each needs exactly as many restarts as it has changes.
func (r *run) change(ctx context.Context, all []changes) error {
	ticker := time.NewTicker(changeEvery)
	defer ticker.Stop()
	for next := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for range all {
			n := next
			next = (next + 1) % len(all)
			ready, err := r.restarted(n, &all[n])
			if err != nil {
				return err
			}
			if !ready || time.Since(all[n].latest) < changeAgain {
				continue
			}
			all[n].n++
			all[n].latest = time.Now()
			body := fmt.Appendf(nil, `{"stringData": {%q: "%d"}}`, secretKey, all[n].n)
			_, err = r.stage.Kube.CoreV1().Secrets(namespace(n)).Patch(context.WithoutCancel(ctx), workload(n), types.MergePatchType, body, metav1.PatchOptions{})
			if err != nil {
				return fmt.Errorf("change %d of %s: %w", all[n].n, workload(n), err)
			}
			break
		}
	}
}

// restarted is whether a Deployment has had a restart for each change, and runs.
func (r *run) restarted(n int, c *changes) (bool, error) {
	d, err := r.view.deployment(n)
	if err != nil {
		return false, err
	}
	return restartsOf(d) >= c.n && !rolling(d), nil
}

// counts of restarts beside changes.
type counts struct {
	changes, restarts int
	least, most       float64 // restarts for a change, of one Deployment
}

func (c *counts) add(changes, restarts int) {
	of := float64(restarts) / float64(max(changes, 1))
	if changes == 0 {
		of = float64(1 + restarts) // needless
	}
	if c.changes == 0 && c.restarts == 0 {
		c.least, c.most = of, of
	}
	c.changes, c.restarts = c.changes+changes, c.restarts+restarts
	c.least, c.most = min(c.least, of), max(c.most, of)
}
