// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// floor changes the Secrets of all workloads and restarts them as kubectl does, as many at once as the operator
// may, and waits for each: what is left of the time is that of the control plane and the machine.
func (r *run) floor(ctx context.Context) error {
	r.retire()
	others, err := r.others()
	if err != nil {
		return err
	}
	r.board.begin()
	began := time.Now()
	err = each(ctx, r.options.Workloads, min(r.options.Cap, r.policies()*perPolicy), func(ctx context.Context, i int) error {
		if err := r.change(ctx, i, perWorkload, 3); err != nil {
			return err
		}
		body := fmt.Appendf(nil, `{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": %q}}}}}`,
			time.Now().Format(time.RFC3339Nano))
		_, err := r.client.AppsV1().Deployments(r.home(i)).Patch(ctx, name(i), types.StrategicMergePatchType, body, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		return r.until(ctx, pace, func() (bool, error) {
			written, rolling := r.board.state(r.key(i))
			return written > 0 && !rolling, nil
		})
	})
	if err != nil {
		return err
	}
	r.result.Floor = time.Since(began)
	r.result.FloorCounts = r.board.counts(time.Now())
	r.result.FloorOthers, err = r.spent(others)
	return err
}
